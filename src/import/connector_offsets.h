// The LSN up to which a connector has sent everything, from its stored offset.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/lsn.h"

namespace walpost {

struct ConnectorOffset {
  Lsn lsn;
  std::string name;    // of the member that says so
  std::string server;  // topic.prefix; empty: the text does not say
};

// Reads what GET /connectors/NAME/offsets answers, or the value of a record of
// the topic of offsets (also with its key before it), or an entry of a file or
// table of offsets.
//
// lsn_commit is the commit of the transaction whose event was sent last, which
// may have more of them (seen with Debezium 3.7); lsn_proc and lsn, which are
// used without it, can lie within a later one. Events of it come again.
// kInvalidArgument: it is none of these, or it is within a snapshot.
absl::StatusOr<ConnectorOffset> ReadConnectorOffset(std::string_view text);

}  // namespace walpost
