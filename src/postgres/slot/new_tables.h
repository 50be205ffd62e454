// NewTables: tables that were added to outbox.tables after everything that is
// known. A stream does not send their earlier rows. The record may say whether
// some of these were passed over.
//
// Owned by the SourceSetup.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/continuity_state.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/unsent_rows.h"

namespace walpost {

class NewTables {
 public:
  // All arguments outlive the object.
  NewTables(const WalSourceOptions& options, const OutboxOptions& outbox,
            const std::vector<Route>& routes, ContinuityState& continuity)
      : options_(options),
        outbox_(outbox),
        routes_(routes),
        continuity_(continuity) {}

  // Tables whose rows were published already, by an initial snapshot.
  void SetPublished(std::vector<std::string> tables) {
    published_ = std::move(tables);
  }

  // Counts the rows that the slot does not send, and tells the continuity.
  // Takes up to a minute for each table, once while the slot stands there.
  boost::asio::awaitable<absl::Status> Look(Connection& connection);
  // The tables are streamed now. Logs what becomes of the rows that the slot
  // does not send.
  void Report();

 private:
  boost::asio::awaitable<absl::Status> Count(Connection& connection,
                                             ContinuityState::NewTable table);

  const WalSourceOptions& options_;
  const OutboxOptions& outbox_;
  const std::vector<Route>& routes_;
  ContinuityState& continuity_;
  std::vector<std::string> published_;
  std::vector<std::string> names_;            // as of the last Look
  std::map<std::string, UnsentRows> unsent_;  // by name
  Lsn counted_at_;                            // where the slot stood
};

}  // namespace walpost
