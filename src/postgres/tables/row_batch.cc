#include "postgres/tables/row_batch.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "postgres/tables/fetch_sizer.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<RowBatch>> ReadRowBatch(Connection& connection,
                                                       std::string sql,
                                                       size_t id) {
  WALPOST_CO_RETURN_IF_ERROR(co_await connection.StartRows(std::move(sql)));
  RowBatch batch;
  for (;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(std::optional<QueryRows> row,
                                co_await connection.NextRow());
    if (!row) co_return batch;
    if (batch.bytes < FetchSizer::kBytes) {
      batch.bytes += row->bytes();
      batch.rows.push_back(*std::move(row));
    } else {
      batch.left_out.push_back(row->Text(0, id));
    }
  }
}

}  // namespace walpost
