// The polling publisher that people write first, written with care.
//
//   walpost_bench_naive CONNINFO TABLE BROKERS TOPIC_PREFIX INTERVAL_MS BATCH
//
//   repeat:
//     SELECT ... WHERE processed_at IS NULL ORDER BY seq LIMIT batch
//     produce all of it, wait for the acknowledgements
//     UPDATE ... SET processed_at = now() WHERE id = ANY(...)
//     sleep for the interval, unless the batch was full
//
// It loses nothing, and it may publish twice when it dies between the
// acknowledgement and the UPDATE. It stands for the approach at its best: C++,
// libpq with prepared statements, librdkafka, a partial index that serves the
// SELECT and the primary key that serves the UPDATE. Only one may run: nothing
// keeps two from taking the same rows.

#include <libpq-fe.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "programs/kafka_output.h"

namespace walpost::bench {
namespace {

volatile std::sig_atomic_t told_to_end = 0;

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

enum Column { kId, kAggregateType, kAggregateId, kPayload };

struct Options {
  std::string conninfo;
  std::string table;
  std::string brokers;
  std::string topic_prefix;
  std::chrono::milliseconds interval;
  int batch;
};

class NaivePublisher {
 public:
  explicit NaivePublisher(Options options)
      : options_(std::move(options)),
        connection_(PQconnectdb(options_.conninfo.c_str()), PQfinish),
        output_(options_.brokers) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) FailOnPostgres();
    Prepare("fetch", "SELECT id, aggregate_type, aggregate_id, payload FROM " +
                         options_.table +
                         " WHERE processed_at IS NULL ORDER BY seq LIMIT " +
                         std::to_string(options_.batch));
    Prepare("mark", "UPDATE " + options_.table +
                        " SET processed_at = now() "
                        "WHERE id = ANY($1::uuid[])");
  }

  void Run() {
    while (told_to_end == 0) {
      if (PublishBatch() < options_.batch) {
        std::this_thread::sleep_for(options_.interval);
      }
    }
  }

 private:
  // Returns how many rows there were.
  int PublishBatch() {
    const Result rows = Execute("fetch", nullptr);
    const int count = PQntuples(rows.get());
    if (count == 0) return 0;
    std::string published = "{";
    for (int row = 0; row < count; ++row) {
      output_.Produce({options_.topic_prefix +
                           std::string(Text(rows.get(), row, kAggregateType)),
                       Text(rows.get(), row, kAggregateId),
                       Text(rows.get(), row, kPayload),
                       Text(rows.get(), row, kId)});
      if (row > 0) published += ',';
      published += Text(rows.get(), row, kId);
    }
    published += '}';
    output_.Flush();
    Execute("mark", published.c_str());
    return count;
  }

  void Prepare(const char* name, const std::string& sql) {
    const Result result(
        PQprepare(connection_.get(), name, sql.c_str(), 0, nullptr), PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) FailOnPostgres();
  }

  Result Execute(const char* name, const char* parameter) {
    Result result(
        PQexecPrepared(connection_.get(), name, parameter == nullptr ? 0 : 1,
                       &parameter, nullptr, nullptr, 0),
        PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      FailOnPostgres();
    }
    return result;
  }

  static std::string_view Text(const PGresult* rows, int row, Column column) {
    return {PQgetvalue(rows, row, column),
            static_cast<size_t>(PQgetlength(rows, row, column))};
  }

  [[noreturn]] void FailOnPostgres() {
    Fail(PQerrorMessage(connection_.get()));
  }

  Options options_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  KafkaOutput output_;
};

}  // namespace
}  // namespace walpost::bench

int main(int count, char** words) {
  using walpost::bench::NaivePublisher;
  if (count != 7) {
    walpost::bench::Fail(
        "usage: walpost_bench_naive CONNINFO TABLE BROKERS TOPIC_PREFIX "
        "INTERVAL_MS BATCH");
  }
  std::signal(SIGTERM, [](int) { walpost::bench::told_to_end = 1; });
  NaivePublisher publisher({words[1], words[2], words[3], words[4],
                            std::chrono::milliseconds(std::stoi(words[5])),
                            std::stoi(words[6])});
  publisher.Run();
}
