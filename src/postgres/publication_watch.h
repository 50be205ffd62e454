// PublicationWatch: notices when the publication stops covering the outbox.
//
// The server says nothing when somebody takes a table out of the publication,
// adds a row filter or a column list, or (18) drops the publication: rows just
// stop coming, and what was committed meanwhile is never sent. So the catalog
// is looked at, again and again, by an ordinary session.
//
// What the setup of the first stream found is the state of reference: a filter
// that was there then is meant so. A change that lasted for a moment only has
// left its mark in the definitions (delivery/coverage.h): that is a gap.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/finding.h"
#include "delivery/coverage.h"
#include "delivery/gap_latch.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/connection.h"
#include "postgres/source_options.h"

namespace walpost {

class PublicationWatch {
 public:
  // The routes outlive this object.
  PublicationWatch(WalSourceOptions options, OutboxOptions outbox,
                   const std::vector<Route>& routes);

  // What was found, without an error, before the first stream. Later calls, and
  // looks before the first call, change nothing.
  void SetReference(const std::vector<Finding>& findings);
  // What the publication covers, as the setup of each stream found it.
  void SetCoverage(const std::string& coverage) {
    coverage_ = Coverage::Parse(coverage);
  }

  // One look over `connection`. An error is one of the connection.
  boost::asio::awaitable<absl::Status> Look(Connection& connection);

  // What has become wrong since the state of reference, and the remedy; empty
  // when all is as it was.
  const std::string& trouble() const { return trouble_; }

  // The definitions have changed since SetCoverage.
  const std::optional<Gap>& gap() const { return gap_; }

 private:
  boost::asio::awaitable<absl::Status> Check(Connection& connection);
  void Compare(const std::vector<Finding>& findings);
  Gap CoverageGap(const std::string& change) const;

  WalSourceOptions options_;
  OutboxOptions outbox_;
  const std::vector<Route>& routes_;
  // The warnings of the state of reference.
  std::optional<std::set<std::string>> reference_;
  std::string trouble_;
  std::optional<Coverage> coverage_;
  std::optional<Gap> gap_;
};

}  // namespace walpost
