#include "postgres/publication_watch.h"

#include <utility>

#include "fmt/format.h"
#include "postgres/publication_check.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;

PublicationWatch::PublicationWatch(WalSourceOptions options,
                                   OutboxOptions outbox,
                                   const std::vector<Route>& routes)
    : options_(std::move(options)),
      outbox_(std::move(outbox)),
      routes_(routes) {
  options_.create = false;  // what is missing now is an error
}

asio::awaitable<absl::Status> PublicationWatch::Look(Connection& connection) {
  PublicationCheck check(connection, options_, outbox_, routes_);
  absl::StatusOr<std::vector<Finding>> findings = co_await check.Run();
  if (!findings.ok()) co_return findings.status();
  Compare(*findings);
  co_return absl::OkStatus();
}

void PublicationWatch::Compare(const std::vector<Finding>& findings) {
  const Finding* worst = FirstError(findings);
  std::set<std::string> warnings;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kWarning) continue;
    const std::string text = finding.subject + " " + finding.text;
    const bool is_new = reference_ && !reference_->contains(text);
    if (worst == nullptr && is_new) worst = &finding;
    warnings.insert(text);
  }
  if (!reference_) {
    if (worst == nullptr) reference_ = std::move(warnings);
    return;  // what is wrong at the start, the setup says
  }
  const std::string before = std::exchange(trouble_, "");
  if (worst != nullptr) {
    trouble_ = fmt::format(
        "{} {} (it was in order before: rows that are committed meanwhile are "
        "never sent); {}",
        worst->subject, worst->text, worst->remedy);
  } else if (!before.empty()) {
    spdlog::warn(
        "publication {} covers the outbox again; rows that were committed "
        "while it did not were never sent: walpost verify names them",
        options_.publication);
  }
}

}  // namespace walpost
