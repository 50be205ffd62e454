// walpost skip, walpost dead-letter: decide about the one event that the flow
// has stopped before. The decision is put on record beside the slot; whoever
// has the slot obeys it (checkpoint/event_decision.h).
//
// The decision names its event. The running instance says which one it is; if
// none runs, the slot does.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/reason_code.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "cli/shared/current_user.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/running_instance.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "delivery/diverted_event.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "outbox/event_digest.h"
#include "outbox/numbering.h"
#include "outbox/route.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/decision_record.h"
#include "postgres/slot/slot.h"
#include "postgres/slot/slot_peek.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// Time for the running instance to obey: it looks every 2 s.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kPoll{200};

struct DecideArguments {
  ConfigArguments config;
  std::string position;
  std::string why;
  std::string by;
};

// An event, as a decision and its record name it.
struct NamedEvent {
  uint64_t numbering = 0;
  std::string digest;  // empty: it was not found
  std::string id;
};

// Where the flow of the running instance stands still.
struct RunningFlow {
  bool is_running = false;
  std::string stopped_position;  // empty: it is not stopped
  std::string reason_code;       // why it is
  NamedEvent stopped_before;
};

// Empty: the member is missing, or is not a text.
std::string TextOf(const rapidjson::Document& json, const char* name) {
  if (!json.HasMember(name) || !json[name].IsString()) return "";
  return json[name].GetString();
}

uint64_t NumberOf(const rapidjson::Document& json, const char* name) {
  if (!json.HasMember(name) || !json[name].IsUint64()) return 0;
  return json[name].GetUint64();
}

RunningFlow AskFlow(const Config& config) {
  RunningFlow flow;
  const absl::StatusOr<std::string> body = AskInstance(config.http, "/status");
  if (!body.ok()) return flow;
  rapidjson::Document json;
  json.Parse(body->data(), body->size());
  if (json.HasParseError() || !json.IsObject()) return flow;
  // A standby does not know where the flow stands: another instance has it.
  flow.is_running = TextOf(json, "slot") == config.postgres.slot &&
                    TextOf(json, "state") != "standby";
  if (!flow.is_running) return flow;
  flow.stopped_position = TextOf(json, "stopped_position");
  flow.reason_code = TextOf(json, "stopped_reason_code");
  flow.stopped_before = {NumberOf(json, "numbering"),
                         TextOf(json, "stopped_event_digest"),
                         TextOf(json, "stopped_event_id")};
  return flow;
}

absl::Status CheckFlow(const RunningFlow& flow, ErrorAction action,
                       const Position& position) {
  const bool stands_there = flow.stopped_position == ToString(position);
  const bool is_unmapped = flow.reason_code == kReasonTableUnsuitable;
  if (stands_there && is_unmapped && action == ErrorAction::kDeadLetter) {
    return absl::FailedPreconditionError(fmt::format(
        "the event at {} could not be mapped to the columns of its table, and "
        "its dead letter would be empty: walpost skip -c FILE {} --why REASON; "
        "then walpost replay -c FILE --from-table --missing",
        flow.stopped_position, flow.stopped_position));
  }
  if (!flow.is_running || stands_there) return absl::OkStatus();
  if (flow.stopped_position.empty()) {
    return absl::FailedPreconditionError(
        "no event of the stream stops the flow: there is nothing to decide");
  }
  return absl::FailedPreconditionError(
      fmt::format("the flow has stopped before the event at {}, not before "
                  "that at {}",
                  flow.stopped_position, ToString(position)));
}

absl::Status CheckSlot(const std::optional<SlotState>& slot,
                       const Config& config, const Position& position) {
  if (!slot) {
    return absl::FailedPreconditionError(
        fmt::format("slot {} does not exist", config.postgres.slot));
  }
  if (position.commit_lsn < slot->confirmed_flush_lsn) {
    return absl::FailedPreconditionError(fmt::format(
        "slot {} is confirmed up to {}: the event at {} was dealt with",
        config.postgres.slot, slot->confirmed_flush_lsn.ToString(),
        ToString(position)));
  }
  return absl::OkStatus();
}

// Reads the event from the WAL, from where the slot stands.
asio::awaitable<absl::StatusOr<NamedEvent>> FindEvent(Connection& connection,
                                                      const Config& config,
                                                      Position position) {
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                              Route::CreateAll(config.outbox));
  NamedEvent found;
  found.numbering = NumberingOf(config.outbox, config.postgres.publication);
  const auto show = [&](const Event& event) {
    if (event.position != position) return;
    found.digest = EventDigest(routes[event.source].source(), event);
    found.id = IdForMessages(event.id.value_or(""));
  };
  const Lsn end(position.commit_lsn.value() + 1);
  const std::vector<std::vector<std::string>> references = ReferencesOf(routes);
  const absl::Status peeked = co_await PeekSlot(
      connection, config.postgres, config.outbox, references, end, show);
  if (SqlstateOf(peeked) == kSqlstateObjectInUse) {
    co_return absl::UnavailableError(fmt::format(
        "slot {} is in use, and no walpost that streams from it answers at "
        "http.listen, so it cannot be known which event is at {}: run this "
        "verb where that walpost answers, or stop it first",
        config.postgres.slot, ToString(position)));
  }
  if (!peeked.ok()) co_return peeked;
  if (found.digest.empty()) {
    co_return absl::NotFoundError(
        fmt::format("the WAL has no event at {} for slot {}, as outbox.tables, "
                    "outbox.messages and postgres.publication count events now",
                    ToString(position), config.postgres.slot));
  }
  co_return found;
}

// Names the event, if `event` is not known, and puts the decision about it on
// record.
asio::awaitable<absl::Status> Record(asio::any_io_executor executor,
                                     const Config& config,
                                     EventDecision decision,
                                     NamedEvent& event) {
  const ConnectionOptions options = TaskSession(config.postgres, "decide");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<SlotState> slot,
      co_await FindSlot(*connection, config.postgres.slot));
  WALPOST_CO_RETURN_IF_ERROR(CheckSlot(slot, config, decision.position));
  // Only who the server is, and its timeline.
  WALPOST_CO_ASSIGN_OR_RETURN(
      const BirthRecord server,
      co_await DescribeBirth(*connection, config.postgres.publication,
                             config.outbox.tables, config.postgres.slot,
                             decision.position.commit_lsn));
  if (event.digest.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        event, co_await FindEvent(*connection, config, decision.position));
  }
  decision.numbering = event.numbering;
  decision.digest = event.digest;
  decision.system_identifier = server.system_identifier;
  decision.timeline = server.timeline;
  decision.at = server.born_at;
  co_return co_await WriteDecision(*connection, config.postgres.publication,
                                   decision);
}

// True if the running instance says that it has gone on: one that no longer
// answers says nothing.
bool WaitUntilObeyed(const Config& config, const Position& position) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const RunningFlow flow = AskFlow(config);
    if (flow.is_running && flow.stopped_position != ToString(position)) {
      return true;
    }
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

int Decide(ErrorAction action, const DecideArguments& arguments) {
  const absl::StatusOr<Position> position = ParsePosition(arguments.position);
  if (!position.ok()) return Fail(position.status(), kExitUsage);
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  absl::Status usable = RequirePostgres(*config);
  if (usable.ok()) {
    usable = RequireWalSource(
        *config,
        fmt::format("a decision about an event ({})", ToString(action)),
        "a row that cannot be delivered holds up its aggregate alone, and is "
        "marked as failed (docs/polling.md)");
  }
  if (!usable.ok()) return Fail(usable, kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  const RunningFlow flow = AskFlow(*config);
  const absl::Status fits = CheckFlow(flow, action, *position);
  if (!fits.ok()) return Fail(fits, kExitFindings);
  EventDecision decision;
  decision.slot = config->postgres.slot;
  decision.action = action;
  decision.position = *position;
  decision.by = arguments.by.empty() ? CurrentUser() : arguments.by;
  decision.why = arguments.why;
  asio::io_context io(1);
  NamedEvent event = flow.stopped_before;
  const absl::Status recorded =
      RunToEnd(io, Record(io.get_executor(), *config, decision, event));
  if (!recorded.ok()) {
    return Fail(recorded,
                absl::IsNotFound(recorded) ? kExitFindings : kExitPostgres);
  }
  const std::string what(ToString(action));
  if (!flow.is_running) {
    Print(
        "on record: {} the event at {} (id {}). No walpost that has slot {} "
        "answers at http.listen: the next instance with the slot obeys{}\n",
        what, ToString(*position), event.id, config->postgres.slot,
        action == ErrorAction::kSkip ? "" : ", if it stops there");
    return kExitOk;
  }
  if (!WaitUntilObeyed(*config, *position)) {
    return Fail(absl::UnavailableError(fmt::format(
                    "on record, but the running walpost does not report that "
                    "it has passed the event at {}: see walpost status -c FILE",
                    ToString(*position))),
                kExitFindings);
  }
  Print("{}: the event at {} (id {}); the flow goes on\n", what,
        ToString(*position), event.id);
  return kExitOk;
}

void AddDecision(CLI::App& app, int& exit_code, const std::string& name,
                 const std::string& description, ErrorAction action) {
  const auto arguments = std::make_shared<DecideArguments>();
  Verb verb(app, name, description);
  arguments->config.AddTo(verb);
  verb.Option("POSITION", arguments->position,
              "Position of the event, as walpost status shows it: 0/154F6A8/3")
      .Required();
  verb.Option("--why", arguments->why, "Reason, for the record").Required();
  verb.Option("--by", arguments->by, "Name for the record ($USER)");
  verb.Footer(
      "For the event that the flow has stopped before, and for no other. The\n"
      "decision is put on record in the comment of the publication, which the "
      "role of\nwalpost must own.\n"
      "Exit codes: 0 decided, 1 the flow does not stand before that event, or "
      "has not\ngone on yet, 2 wrong command line or configuration, 3 "
      "Postgres.");
  verb.Callback([arguments, action, &exit_code] {
    exit_code = Decide(action, *arguments);
  });
}

}  // namespace

void AddSkip(CLI::App& app, int& exit_code) {
  AddDecision(app, exit_code, "skip",
              "Leave out the event that the flow has stopped before",
              ErrorAction::kSkip);
}

void AddDeadLetter(CLI::App& app, int& exit_code) {
  AddDecision(app, exit_code, "dead-letter",
              "Set aside the event that the flow has stopped before as a dead "
              "letter",
              ErrorAction::kDeadLetter);
}

}  // namespace walpost
