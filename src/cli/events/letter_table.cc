#include "cli/events/letter_table.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "cli/events/letter_list.h"
#include "cli/events/parked_text.h"
#include "cli/shared/current_user.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/running_instance.h"
#include "dead_letters/letter_check.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "postgres/parking/parked_list.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Entries = std::vector<ParkedEntry>;
using Settled = ParkingSql::Settled;
using std::chrono::milliseconds;

constexpr size_t kMaxShownFailures = 20;
// Time for the running instance to send another letter: it looks every second.
constexpr std::chrono::seconds kPatience{45};
constexpr milliseconds kPoll{200};

bool IsOpen(const ParkedEntry& entry) {
  return entry.state == ParkedState::kLetter;
}

// Settles letters, or says what would be done.
class LetterTable {
 public:
  LetterTable(asio::any_io_executor executor, ParkedList list,
              const LetterArguments& arguments, const LetterFilter& filter,
              const Config& config)
      : executor_(executor),
        arguments_(arguments),
        filter_(filter),
        config_(config),
        list_(std::move(list)) {}

  asio::awaitable<absl::StatusOr<int>> Run();

 private:
  using Failures = std::vector<std::pair<std::string, std::string>>;

  bool Matches(const ParkedEntry& entry) const;
  void List(const Entries& chosen) const;
  asio::awaitable<absl::Status> Show(const Entries& chosen);
  asio::awaitable<absl::Status> KeepDeliverable(Entries& chosen);
  asio::awaitable<absl::StatusOr<int>> Settle(Entries chosen);
  asio::awaitable<absl::StatusOr<int>> AwaitRetry(
      std::vector<ParkedNumber> rows);
  asio::awaitable<absl::StatusOr<size_t>> WaitUntilTried(
      std::vector<ParkedNumber> rows);
  void PrintFailures() const;
  int Finish() const { return failures_.empty() ? kExitOk : kExitFindings; }

  asio::any_io_executor executor_;
  const LetterArguments& arguments_;
  const LetterFilter& filter_;
  const Config& config_;
  ParkedList list_;
  Failures failures_;  // places and reasons of letters that stay as they are
};

bool LetterTable::Matches(const ParkedEntry& entry) const {
  const bool may_take_back =
      !arguments_.is_retry() && entry.state == ParkedState::kLetterRetry;
  if (arguments_.settles() && !IsOpen(entry) && !may_take_back) return false;
  const bool is_there = !filter_.place || *filter_.place == PositionOf(entry);
  return is_there && filter_.MatchesContent(entry.content);
}

asio::awaitable<absl::StatusOr<int>> LetterTable::Run() {
  const Settled settled =
      arguments_.includes_settled() ? Settled::kIncluded : Settled::kLeftOut;
  WALPOST_CO_ASSIGN_OR_RETURN(Entries chosen,
                              co_await list_.ReadLetters(settled));
  std::erase_if(chosen,
                [this](const ParkedEntry& entry) { return !Matches(entry); });
  if (arguments_.action == "list") {
    List(chosen);
    co_return kExitOk;
  }
  if (chosen.empty()) {
    co_return Fail(absl::NotFoundError("no such dead letter is open"),
                   kExitFindings);
  }
  if (arguments_.settles()) co_return co_await Settle(std::move(chosen));
  const absl::Status shown = co_await Show(chosen);
  if (!shown.ok()) co_return shown;
  co_return kExitOk;
}

void LetterTable::List(const Entries& chosen) const {
  std::vector<ShownLetter> letters;
  for (const ParkedEntry& entry : chosen) letters.emplace_back(entry);
  Print("{}",
        arguments_.json ? LetterListJson(letters) : LetterListText(letters));
}

asio::awaitable<absl::Status> LetterTable::Show(const Entries& chosen) {
  for (const ParkedEntry& entry : chosen) {
    DeadLetter letter = entry.content;
    WALPOST_CO_ASSIGN_OR_RETURN(letter.payload,
                                co_await list_.ReadPayload(entry.number));
    letter.position = PositionOf(entry);
    PrintContent(LetterText(letter.position, letter));
  }
  co_return absl::OkStatus();
}

// Leaves out the letters whose records cannot be built.
asio::awaitable<absl::Status> LetterTable::KeepDeliverable(Entries& chosen) {
  WALPOST_CO_ASSIGN_OR_RETURN(LetterCheck check,
                              LetterCheck::Create(config_.outbox));
  Entries deliverable;
  for (ParkedEntry& entry : chosen) {
    DeadLetter letter = entry.content;
    WALPOST_CO_ASSIGN_OR_RETURN(letter.payload,
                                co_await list_.ReadPayload(entry.number));
    const absl::Status built = check(letter);
    if (built.ok()) {
      deliverable.push_back(std::move(entry));
    } else {
      failures_.emplace_back(PositionOf(entry), std::string(built.message()));
    }
  }
  chosen = std::move(deliverable);
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<int>> LetterTable::Settle(Entries chosen) {
  if (arguments_.is_retry()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await KeepDeliverable(chosen));
  }
  const std::string_view what = arguments_.is_retry() ? "retried" : "discarded";
  if (arguments_.dry_run) {
    Print("{} would be {}\n", chosen.size(), what);
    PrintFailures();
    co_return Finish();
  }
  std::vector<ParkedNumber> rows;
  for (const ParkedEntry& entry : chosen) rows.push_back(entry.number);
  const ParkedState state = arguments_.is_retry()
                                ? ParkedState::kLetterRetry
                                : ParkedState::kLetterDiscarded;
  const std::string by = arguments_.by.empty() ? CurrentUser() : arguments_.by;
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkedList::Decided decided,
      co_await list_.Decide(rows, state, by, arguments_.why));
  if (decided.rows.size() < rows.size()) {
    Print("{} were decided about by another command\n",
          rows.size() - decided.rows.size());
  }
  if (arguments_.is_retry()) {
    co_return co_await AwaitRetry(std::move(decided.rows));
  }
  Print("{} discarded\n{}", decided.rows.size(),
        DiscardedTooLate(decided, "dead-letters -c FILE list --all"));
  co_return Finish();
}

asio::awaitable<absl::StatusOr<int>> LetterTable::AwaitRetry(
    std::vector<ParkedNumber> rows) {
  if (!AskInstance(config_.http, "/status").ok()) {
    Print(
        "{} to be sent. No walpost answers at http.listen: the next one that "
        "has slot {} sends them\n",
        rows.size(), config_.postgres.slot);
    PrintFailures();
    co_return Finish();
  }
  WALPOST_CO_ASSIGN_OR_RETURN(const size_t left, co_await WaitUntilTried(rows));
  const std::set<ParkedNumber> tried(rows.begin(), rows.end());
  WALPOST_CO_ASSIGN_OR_RETURN(const Entries open,
                              co_await list_.ReadLetters(Settled::kLeftOut));
  size_t failed = 0;
  for (const ParkedEntry& entry : open) {
    if (!tried.contains(entry.number) || !IsOpen(entry)) continue;
    ++failed;
    failures_.emplace_back(PositionOf(entry), entry.content.reason);
  }
  Print("{} retried\n", rows.size() - std::min(rows.size(), failed + left));
  PrintFailures();
  if (left == 0) co_return Finish();
  co_return Fail(absl::UnavailableError(fmt::format(
                     "{} to be sent, but the running walpost has not sent them "
                     "yet: see walpost dead-letters -c FILE list and its log",
                     left)),
                 kExitFindings);
}

// Until the running instance has tried them all, or makes no progress. Returns
// how many it has not tried.
asio::awaitable<absl::StatusOr<size_t>> LetterTable::WaitUntilTried(
    std::vector<ParkedNumber> rows) {
  asio::steady_timer timer(executor_);
  size_t left = rows.size();
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (left > 0 && std::chrono::steady_clock::now() < deadline) {
    timer.expires_after(kPoll);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<ParkedState> states,
                                co_await list_.States(rows));
    const auto waiting = static_cast<size_t>(
        std::ranges::count(states, ParkedState::kLetterRetry));
    if (waiting < left) {
      deadline = std::chrono::steady_clock::now() + kPatience;
    }
    left = waiting;
  }
  co_return left;
}

void LetterTable::PrintFailures() const {
  for (size_t i = 0; i < failures_.size() && i < kMaxShownFailures; ++i) {
    Print("{} stays as it is: {}\n", failures_[i].first, failures_[i].second);
  }
  if (failures_.size() > kMaxShownFailures) {
    Print("and {} more\n", failures_.size() - kMaxShownFailures);
  }
}

asio::awaitable<absl::StatusOr<int>> Run(asio::any_io_executor executor,
                                         const LetterArguments& arguments,
                                         const LetterFilter& filter,
                                         const Config& config) {
  const ConnectionOptions options =
      ParkedList::Session(config.postgres, "dead-letters-verb");
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkedList list, co_await ParkedList::Open(*connection, config.postgres,
                                                 config.parking.table));
  LetterTable table(executor, std::move(list), arguments, filter, config);
  co_return co_await table.Run();
}

}  // namespace

int RunLetterTable(const LetterArguments& arguments, const LetterFilter& filter,
                   const Config& config) {
  absl::Status fits = RequirePostgres(config);
  if (fits.ok() && !arguments.from.empty()) {
    fits = absl::InvalidArgumentError(
        "--from names a topic, and dead letters are rows of parking.table "
        "(dead_letter.store: postgres): add --set dead_letter.store=kafka");
  }
  if (!fits.ok()) return Fail(fits, kExitUsage);
  asio::io_context io(1);
  const absl::StatusOr<int> code =
      RunToEnd(io, Run(io.get_executor(), arguments, filter, config));
  return code.ok() ? *code : Fail(code.status(), kExitPostgres);
}

}  // namespace walpost
