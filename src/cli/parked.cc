// walpost parked: lists, shows, releases and discards parked events.
#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "cli/events/letter_arguments.h"
#include "cli/events/parked_text.h"
#include "cli/shared/current_user.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/running_instance.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/config.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "parking/ordering_key.h"
#include "parking/parking_table_facts.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/parking/parked_list.h"
#include "postgres/parking/parked_table_record.h"
#include "postgres/slot/birth_record.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// A missing table that nothing needs is not made again.
asio::awaitable<absl::StatusOr<ParkedTable>> MakeIfNeeded(
    Connection& connection, const Config& config,
    const ParkingTableFacts& facts) {
  if (!facts.exists() && !config.parks()) co_return ParkedTable();
  if (!facts.exists()) {
    const std::string create = ParkingSql::Create(config.parking.table);
    const absl::StatusOr<QueryRows> made = co_await connection.Execute(create);
    if (SqlstateOf(made.status()) == kSqlstateInsufficientPrivilege) {
      co_return absl::FailedPreconditionError(fmt::format(
          "role {} may not make table {}; run as the owner of the schema "
          "(sql/parked.sql), and this verb again: {}",
          facts.role, facts.name, facts.grant_sql));
    }
    if (!made.ok()) co_return made.status();
  }
  const std::string sql =
      fmt::format("SELECT {}", RelationOidSql(connection, facts.name));
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  co_return ParkedTable{facts.name, static_cast<uint32_t>(rows.Unsigned(0, 0))};
}

// walpost parked accept: goes on with the table of parked events as it is now,
// after the one that the slot has used has gone missing. Makes an empty table
// if there is none and the configuration needs one, and puts on record that the
// slot uses it. Prints what it has done; the result is an exit code.
// kFailedPrecondition: nothing is wrong with the table, or the role may not do
// that; has the SQL for the owner.
asio::awaitable<absl::StatusOr<int>> AcceptParkedTable(
    asio::any_io_executor executor, const Config& config, std::string by,
    std::string why) {
  const WalSourceOptions& postgres = config.postgres;
  const ConnectionOptions options =
      ParkedList::Session(postgres, "parked-verb");
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(*connection, postgres.publication,
                               postgres.slot));
  const ParkedTable before = birth ? birth->parked_table : ParkedTable();
  const ParkingNames names{config.parking.table, postgres.slot, ""};
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkingTableFacts facts,
      co_await ReadParkingTableFacts(*connection, names, postgres.publication,
                                     before, Lsn()));
  if (!FindProblemOfHistory(facts)) {
    co_return absl::FailedPreconditionError(fmt::format(
        "parking.table {} is the one that slot {} has used, or it has used "
        "none: there is nothing to accept",
        facts.name, postgres.slot));
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const ParkedTable now, co_await MakeIfNeeded(*connection, config, facts));
  const absl::Status recorded = co_await RecordParkedTable(
      *connection, postgres.publication, postgres.slot, now);
  if (SqlstateOf(recorded) == kSqlstateInsufficientPrivilege) {
    co_return absl::FailedPreconditionError(fmt::format(
        "role {} does not own publication {}, whose comment says which table "
        "slot {} has used: run this verb as its owner, with --set "
        "postgres.conninfo='... user=OWNER'",
        facts.role, postgres.publication, postgres.slot));
  }
  if (!recorded.ok()) co_return recorded;
  Print(
      "accepted by {}: slot {} goes on {} table {} ({}). walpost verify -c "
      "FILE names "
      "the rows that are neither published nor on record\n",
      by.empty() ? CurrentUser() : by, postgres.slot,
      now.name.empty() ? "without" : "with", facts.name, why);
  co_return kExitOk;
}

using Entries = std::vector<ParkedEntry>;
using std::chrono::milliseconds;

// Time for the running instance to send what is released: it looks every
// second, and gives a topic up after 20 s, or when the brokers have not known
// it for 30 s.
constexpr std::chrono::seconds kPatience{45};
constexpr milliseconds kPoll{200};

struct Arguments {
  ConfigArguments config;
  std::string action;
  std::optional<std::string> position;
  std::optional<std::string> id;
  std::optional<std::string> key;
  std::optional<std::string> error_class;

  bool all = false;
  bool json = false;
  std::string why;
  std::string by;

  bool is_release() const { return action == "release"; }
  bool is_accept() const { return action == "accept"; }
  bool decides() const { return is_release() || action == "discard"; }
  bool selects() const { return position || id || key || error_class; }
  bool Matches(const ParkedEntry& entry) const {
    const DeadLetter& content = entry.content;
    return (!position || position == PositionOf(entry)) &&
           (!id || content.id == id) && (!key || content.aggregate_id == key) &&
           (!error_class || content.error_class == error_class);
  }
};

absl::Status CheckArguments(const Arguments& arguments) {
  const auto wrong = [&arguments](std::string_view text) {
    return absl::InvalidArgumentError(
        fmt::format("parked {}: {}", arguments.action, text));
  };
  if (arguments.error_class) {
    WALPOST_RETURN_IF_ERROR(CheckClassOption(*arguments.error_class));
  }
  if (arguments.position) {
    WALPOST_RETURN_IF_ERROR(ParsePosition(*arguments.position).status());
  }
  if (arguments.is_accept()) {
    if (arguments.selects() || arguments.all) {
      return wrong("it is about the table, and takes only --why and --by");
    }
    return arguments.why.empty() ? wrong("--why is missing, for the record")
                                 : absl::OkStatus();
  }
  if (!arguments.decides()) {
    const bool has_reason = !arguments.why.empty() || !arguments.by.empty();
    return has_reason ? wrong("--why and --by are for decisions")
                      : absl::OkStatus();
  }
  if (!arguments.selects() && !arguments.all) {
    return wrong("which ones? --position, --id, --key, --class, or --all");
  }
  if (arguments.why.empty()) return wrong("--why is missing, for the record");
  return absl::OkStatus();
}

// Events that wait, by the dead event before them in their lane.
std::map<ParkedNumber, uint64_t> CountBehind(const Entries& entries,
                                             LaneScope scope) {
  std::map<std::string, ParkedNumber> dead;
  std::map<ParkedNumber, uint64_t> behind;
  for (const ParkedEntry& entry : entries) {
    const std::string lane = LaneOf(scope, entry.content.aggregate_type,
                                    entry.content.aggregate_id.value_or(""));
    if (!entry.isolated_topic.empty()) continue;
    if (entry.state == ParkedState::kDead) {
      dead[lane] = entry.number;
    } else if (entry.state == ParkedState::kWaiting && dead.contains(lane)) {
      ++behind[dead[lane]];
    }
  }
  return behind;
}

// Whoever has the slot sends them when the topic takes records again.
void PrintIsolated(const Entries& entries) {
  std::map<std::string_view, uint64_t> topics;
  for (const ParkedEntry& entry : entries) {
    if (!entry.isolated_topic.empty()) ++topics[entry.isolated_topic];
  }
  for (const auto& [topic, count] : topics) {
    Print(
        "topic {} is isolated, because it takes no records: {} events "
        "wait for it, and follow when it does\n",
        topic, count);
  }
}

void PrintList(const Arguments& arguments, const Entries& entries,
               LaneScope scope) {
  std::map<ParkedNumber, uint64_t> behind = CountBehind(entries, scope);
  std::map<std::string_view, uint64_t> sums;
  for (const ParkedEntry& entry : entries) {
    const bool is_shown = arguments.all || entry.state != ParkedState::kWaiting;
    ++sums[ToString(entry.state)];
    if (!is_shown || !arguments.Matches(entry)) continue;
    const uint64_t count = behind[entry.number];
    Print("{}",
          arguments.json ? ParkedJson(entry, count) : ParkedText(entry, count));
  }
  if (arguments.json) return;
  Print("{} parked events", entries.size());
  const char* separator = ": ";
  for (const auto& [state, count] : sums) {
    Print("{}{} {}", separator, count, state);
    separator = ", ";
  }
  Print("\n");
  PrintIsolated(entries);
}

// False: none matches.
asio::awaitable<absl::StatusOr<bool>> Show(ParkedList& list,
                                           const Arguments& arguments,
                                           const Entries& entries) {
  bool found = false;
  for (const ParkedEntry& entry : entries) {
    if (!arguments.Matches(entry)) continue;
    found = true;
    WALPOST_CO_ASSIGN_OR_RETURN(const OwnValue payload,
                                co_await list.ReadPayload(entry.number));
    PrintContent(ParkedDetails(entry, payload));
  }
  co_return found;
}

// Whether an instance answers that would send what is released.
bool HasRunningInstance(const Config& config) {
  return AskInstance(config.http, "/status").ok();
}

struct Tried {
  size_t sent = 0;
  size_t dead = 0;  // again
};

// Until the running instance has tried them all; nullopt: it has not.
asio::awaitable<absl::StatusOr<std::optional<Tried>>> WaitUntilTried(
    asio::any_io_executor executor, ParkedList& list,
    std::vector<ParkedNumber> rows) {
  asio::steady_timer timer(executor);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    timer.expires_after(kPoll);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<ParkedState> states,
                                co_await list.States(rows));
    if (std::ranges::count(states, ParkedState::kRetry) > 0) continue;
    const auto count = [&states](ParkedState state) {
      return static_cast<size_t>(std::ranges::count(states, state));
    };
    co_return Tried{count(ParkedState::kReleased), count(ParkedState::kDead)};
  }
  co_return std::nullopt;
}

asio::awaitable<absl::Status> PrintDeadAgain(
    ParkedList& list, const std::vector<ParkedNumber>& tried) {
  constexpr size_t kMaxShown = 20;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Entries entries, co_await list.Read(ParkingSql::Settled::kLeftOut));
  size_t shown = 0;
  for (const ParkedEntry& entry : entries) {
    if (entry.state != ParkedState::kDead || shown == kMaxShown) continue;
    if (std::ranges::find(tried, entry.number) == tried.end()) continue;
    ++shown;
    Print("{}: {}\n", PositionOf(entry), entry.content.reason);
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<int>> Decide(asio::any_io_executor executor,
                                            ParkedList& list,
                                            const Arguments& arguments,
                                            const Config& config,
                                            const Entries& entries) {
  std::vector<ParkedNumber> chosen;
  for (const ParkedEntry& entry : entries) {
    const bool is_open =
        entry.state == ParkedState::kDead ||
        (entry.state == ParkedState::kRetry && !arguments.is_release());
    if (is_open && arguments.Matches(entry)) chosen.push_back(entry.number);
  }
  if (chosen.empty()) {
    co_return Fail(
        absl::NotFoundError("no such parked event is dead: what waits behind "
                            "one, or for its topic, follows by itself"),
        kExitFindings);
  }
  const ParkedState state =
      arguments.is_release() ? ParkedState::kRetry : ParkedState::kDiscarded;
  const std::string by = arguments.by.empty() ? CurrentUser() : arguments.by;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const ParkedList::Decided made,
      co_await list.Decide(chosen, state, by, arguments.why));
  const std::vector<ParkedNumber>& decided = made.rows;
  if (!arguments.is_release()) {
    Print("{} discarded; what waits behind them follows\n{}", decided.size(),
          DiscardedTooLate(made, "parked -c FILE list --all"));
    co_return kExitOk;
  }
  if (!HasRunningInstance(config)) {
    Print(
        "{} to be sent. No walpost answers at http.listen: the next one that "
        "has slot {} sends them\n",
        decided.size(), config.postgres.slot);
    co_return kExitOk;
  }
  WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<Tried> tried,
                              co_await WaitUntilTried(executor, list, decided));
  if (!tried) {
    co_return Fail(absl::UnavailableError(fmt::format(
                       "{} to be sent, but the running walpost has not sent "
                       "them yet: see walpost parked -c FILE list and its log",
                       decided.size())),
                   kExitFindings);
  }
  Print("{} sent, {} dead again\n", tried->sent, tried->dead);
  if (tried->dead > 0) {
    WALPOST_CO_RETURN_IF_ERROR(co_await PrintDeadAgain(list, decided));
  }
  co_return tried->dead == 0 ? kExitOk : kExitFindings;
}

asio::awaitable<absl::StatusOr<int>> Run(asio::any_io_executor executor,
                                         const Arguments& arguments,
                                         const Config& config,
                                         LaneScope scope) {
  const ConnectionOptions options =
      ParkedList::Session(config.postgres, "parked-verb");
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkedList list, co_await ParkedList::Open(*connection, config.postgres,
                                                 config.parking.table));
  const bool with_settled = arguments.all && !arguments.decides();
  const auto settled = with_settled ? ParkingSql::Settled::kIncluded
                                    : ParkingSql::Settled::kLeftOut;
  WALPOST_CO_ASSIGN_OR_RETURN(const Entries entries,
                              co_await list.Read(settled));
  if (arguments.action == "list") {
    PrintList(arguments, entries, scope);
    co_return kExitOk;
  }
  if (arguments.action == "show") {
    WALPOST_CO_ASSIGN_OR_RETURN(const bool any,
                                co_await Show(list, arguments, entries));
    if (any) co_return kExitOk;
    co_return Fail(absl::NotFoundError("no parked event matches"),
                   kExitFindings);
  }
  co_return co_await Decide(executor, list, arguments, config, entries);
}

int RunParked(const Arguments& arguments) {
  const absl::Status usable = CheckArguments(arguments);
  if (!usable.ok()) return Fail(usable, kExitUsage);
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  absl::Status fits = RequirePostgres(*config);
  if (fits.ok()) {
    fits = RequireWalSource(*config, "walpost parked",
                            "rows that cannot be delivered are marked in "
                            "their table (docs/polling.md)");
  }
  if (!fits.ok()) return Fail(fits, kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  const auto routes = Route::CreateAll(config->outbox);
  if (!routes.ok()) return Fail(routes.status(), kExitUsage);
  asio::io_context io(1);
  const auto executor = io.get_executor();
  const absl::StatusOr<int> code =
      arguments.is_accept()
          ? RunToEnd(io, AcceptParkedTable(executor, *config, arguments.by,
                                           arguments.why))
          : RunToEnd(io, Run(executor, arguments, *config, ScopeOf(*routes)));
  return code.ok() ? *code : Fail(code.status(), kExitPostgres);
}

}  // namespace

void AddParked(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  Verb verb(app, "parked", "List, show, release or discard parked events");
  arguments->config.AddTo(verb);
  verb.Option(
          "ACTION", arguments->action,
          "What to do; accept: continue with the table as it is, after the one "
          "that was used is missing")
      .OneOf({"list", "show", "release", "discard", "accept"})
      .Required();
  verb.Option("--position", arguments->position,
              "Event at this position, as list shows it: 0/154F6A8/3");
  verb.Option("--id", arguments->id, "Events with this id");
  verb.Option("--key", arguments->key, "Events with this key");
  verb.Option("--class", arguments->error_class, "Errors of this class");
  verb.Flag("--all", arguments->all,
            "list, show: also events that wait behind others, or are settled; "
            "release, discard: every dead one");
  verb.Flag("--json", arguments->json, "list: one JSON object per line");
  verb.Option("--why", arguments->why, "Reason, for the record");
  verb.Option("--by", arguments->by, "Name for the record ($USER)");
  verb.Footer(
      "release sends dead events again, as the configuration now says, and "
      "then what\nwaits behind them; the walpost that has the slot does it.\n"
      "Exit codes: 0 done, 1 no match, or some were rejected again or not "
      "tried "
      "yet,\n2 usage, 3 Postgres.");
  verb.Callback([arguments, &exit_code] { exit_code = RunParked(*arguments); });
}

}  // namespace walpost
