// Says whether an event id can be assigned a second time.
//
// A uuid made from random bits or a clock (versions 1, 4, 6 and 7) is unique in
// the world: two records with it are the same event. Any other id may come
// again: a sequence that was restored with its database continues from its old
// value, two tables count from 1, a uuid of version 3 or 5 is made from a name.
#pragma once

#include <string_view>

namespace walpost {

bool CanRepeat(std::string_view id);

}  // namespace walpost
