#include "postgres/parked_list.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Places in one statement.
constexpr size_t kMaxPlaces = 2'000;

absl::StatusOr<ParkedEntry> ParseEntry(const QueryRows& rows, size_t row) {
  ParkedEntry entry;
  entry.place = {rows.Text(row, 0), rows.Text(row, 1)};
  WALPOST_ASSIGN_OR_RETURN(entry.state, ParseParkedState(rows.Text(row, 2)));
  entry.content.error_class = rows.Text(row, 3);
  entry.content.reason = rows.Text(row, 4);
  WALPOST_ASSIGN_OR_RETURN(const OwnValue event, rows.Bytea(row, 5));
  WALPOST_RETURN_IF_ERROR(DecodeParked(event.value_or(""), entry.content));
  entry.payload_bytes = rows.Unsigned(row, 6);
  if (rows.Get(row, 7)) {
    entry.decided_at =
        WallTime(std::chrono::microseconds(rows.Integer(row, 7)));
  }
  entry.decided_by = rows.Text(row, 8);
  entry.decided_why = rows.Text(row, 9);
  const bool is_letter = ToString(entry.state).starts_with("dead_letter");
  (is_letter ? entry.content.topic : entry.isolated_topic) = rows.Text(row, 10);
  return entry;
}

std::span<const ParkedPlace> Portion(const std::vector<ParkedPlace>& places,
                                     size_t first) {
  const size_t count = std::min(kMaxPlaces, places.size() - first);
  return {places.data() + first, count};
}

}  // namespace

ParkedList::ParkedList(Connection& connection, std::string table,
                       std::string slot)
    : connection_(connection),
      table_(table),
      sql_({std::move(table), std::move(slot), "",
            connection.server_encoding() != "UTF8"},
           [&connection](std::string_view text) {
             return connection.Literal(text);
           }) {}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ParkedList::Read(
    ParkingSql::Settled settled) {
  co_return co_await ReadAll(sql_.List(settled));
}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>>
ParkedList::ReadLetters(ParkingSql::Settled settled) {
  co_return co_await ReadAll(sql_.ListLetters(settled));
}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ParkedList::ReadAll(
    std::string sql) {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows found,
                              co_await connection_.Execute(sql_.Exists()));
  std::vector<ParkedEntry> entries;
  if (!found.Bool(0, 0)) co_return entries;
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection_.Execute(sql));
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StatusOr<ParkedEntry> entry = ParseEntry(rows, i);
    if (!entry.ok()) {
      co_return absl::DataLossError(
          fmt::format("table {}, position {}: {}", table_, rows.Text(i, 1),
                      std::string(entry.status().message())));
    }
    entries.push_back(*std::move(entry));
  }
  co_return entries;
}

asio::awaitable<absl::StatusOr<OwnValue>> ParkedList::ReadPayload(
    ParkedPlace place) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const QueryRows rows, co_await connection_.Execute(sql_.Payload(place)));
  if (rows.size() == 0) co_return OwnValue();
  co_return rows.Bytea(0, 0);
}

asio::awaitable<absl::StatusOr<std::vector<ParkedPlace>>> ParkedList::Decide(
    std::vector<ParkedPlace> places, ParkedState state, std::string by,
    std::string why) {
  const bool is_about_letters = state == ParkedState::kLetterRetry ||
                                state == ParkedState::kLetterDiscarded;
  std::vector<ParkedPlace> decided;
  for (size_t i = 0; i < places.size(); i += kMaxPlaces) {
    const std::span<const ParkedPlace> portion = Portion(places, i);
    const std::string sql = is_about_letters
                                ? sql_.DecideLetters(portion, state, by, why)
                                : sql_.Decide(portion, state, by, why);
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                                co_await connection_.Execute(sql));
    for (size_t row = 0; row < rows.size(); ++row) {
      decided.push_back({rows.Text(row, 0), rows.Text(row, 1)});
    }
  }
  co_return decided;
}

asio::awaitable<absl::StatusOr<std::vector<ParkedState>>> ParkedList::States(
    std::vector<ParkedPlace> places) {
  std::vector<ParkedState> states;
  for (size_t i = 0; i < places.size(); i += kMaxPlaces) {
    const std::string sql = sql_.States(Portion(places, i));
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                                co_await connection_.Execute(sql));
    for (size_t row = 0; row < rows.size(); ++row) {
      const absl::StatusOr<ParkedState> state =
          ParseParkedState(rows.Text(row, 0));
      if (!state.ok()) co_return state.status();
      states.push_back(*state);
    }
  }
  co_return states;
}

}  // namespace walpost
