// EventDigest: identifies an event independently of its position.
//
// A position names an event only together with the numbering that it was
// counted in (numbering.h): after a change of outbox.tables, another event of
// the same transaction may stand there. So the records about an event (a dead
// letter, a parked event, a decision) also have its digest.
//
// The digest is made of the source and the id. An event without an id is known
// by all of its fields: two equal ones in a transaction have the same digest,
// and one event has another digest when its columns are mapped otherwise.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "outbox/event.h"

namespace walpost {

// `i` (made of the id) or `f` (of the fields), and 24 hexadecimal digits; the
// same in every release. `source`: schema.table, or the prefix of the messages.
std::string EventDigest(std::string_view source, const Event& event);

// True if two digests at one place, counted in the same numbering, cannot be
// those of one event: both are made of ids, and differ.
bool AreOfDifferentEvents(std::string_view one, std::string_view other);

}  // namespace walpost
