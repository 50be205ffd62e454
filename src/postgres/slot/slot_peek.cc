#include "postgres/slot/slot_peek.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/decoder.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/read_base_types.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string PeekSql(Connection& connection, const WalSourceOptions& postgres,
                    Lsn end) {
  return fmt::format(
      "SELECT data FROM pg_catalog.pg_logical_slot_peek_binary_changes({}, "
      "{}::pg_lsn, NULL, 'proto_version', '1', 'publication_names', {})",
      connection.Literal(postgres.slot), connection.Literal(end.ToString()),
      PublicationList(connection, postgres.publication));
}

absl::Status Show(const QueryRows& row, TransactionAssembler& assembler,
                  const std::function<void(const Event& event)>& show) {
  WALPOST_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                           row.Bytea(0, 0));
  if (!bytes) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::Message message,
                           pgoutput::Decode(*bytes));
  Step step;
  WALPOST_RETURN_IF_ERROR(assembler.Apply(message, step));
  const bool is_event = step.kind == Step::Kind::kEvent ||
                        step.kind == Step::Kind::kUndeliverable;
  if (is_event) show(step.event);
  return absl::OkStatus();
}

}  // namespace

asio::awaitable<absl::Status> PeekSlot(
    Connection& connection, const WalSourceOptions& postgres,
    const OutboxOptions& outbox,
    const std::vector<std::vector<std::string>>& references, Lsn end,
    const std::function<void(const Event& event)>& show) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      BaseTypes types, co_await ReadBaseTypes(connection, outbox.tables));
  types.Complete();
  TransactionAssembler assembler(outbox, references);
  assembler.SetBaseTypes(std::move(types));
  const std::string sql = PeekSql(connection, postgres, end);
  WALPOST_CO_RETURN_IF_ERROR(co_await connection.StartRows(sql));
  for (;;) {
    absl::StatusOr<std::optional<QueryRows>> row =
        co_await connection.NextRow();
    if (!row.ok()) co_return row.status();
    if (!*row) co_return absl::OkStatus();
    const absl::Status shown = Show(**row, assembler, show);
    if (!shown.ok()) co_return shown;
  }
}

}  // namespace walpost
