// The ceiling of the source: reads a slot and throws everything away.
//
//   walpost_bench_discard CONNINFO SLOT PUBLICATION WARM_UP_ROWS ROWS [LAGS]
//
// Prints "<rows> <nanoseconds since 1970>" when WARM_UP_ROWS inserts have been
// read, and again at ROWS, where it ends; or after SIGTERM. Nothing is decoded
// but the kind of a message. With the file LAGS, when it ends: a line for each
// transaction, "<when it was committed> <how long after that it was read>", in
// microseconds (since 1970). It reads as walpost does (ReadPacer):
// pg_recvlogical, which makes a system call per message, is slower than this
// and so no ceiling.

#include <libpq-fe.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/byte_reader.h"
#include "base/time.h"
#include "programs/kafka_output.h"
#include "session/read_pacer.h"

namespace walpost::bench {
namespace {

using Clock = std::chrono::steady_clock;

// An XLogData message is 'w' and three int64 before pgoutput's message.
constexpr int kXLogDataHeader = 25;
constexpr std::chrono::seconds kStatusInterval{1};
// Of a Commit, before its time: its kind, flags and two LSNs.
constexpr size_t kBeforeCommitTime = 18;

volatile std::sig_atomic_t told_to_end = 0;

class DiscardReader {
 public:
  DiscardReader(const std::string& conninfo, const std::string& slot,
                const std::string& publication, bool notes_lags)
      : notes_lags_(notes_lags),
        connection_(PQconnectdb((conninfo + " replication=database").c_str()),
                    PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) FailOnPostgres();
    const std::string command =
        "START_REPLICATION SLOT \"" + slot +
        "\" LOGICAL 0/0 (proto_version '1', publication_names '" + publication +
        "')";
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection_.get(), command.c_str()), PQclear);
    if (PQresultStatus(result.get()) != PGRES_COPY_BOTH) FailOnPostgres();
  }

  void ReadUntil(int64_t rows) {
    while (rows_ < rows && told_to_end == 0) {
      const ReadPacer::Taken taken = TakeWhatIsThere(rows);
      const Clock::time_point now = Clock::now();
      if (now - told_ >= kStatusInterval) {
        TellStatus();
        told_ = now;
      }
      if (rows_ >= rows) break;
      const ReadPacer::Duration pause = pacer_.PauseAfter(taken, now);
      if (pause > pause.zero()) std::this_thread::sleep_for(pause);
      Wait();
    }
    std::printf("%lld %lld\n", static_cast<long long>(rows_),
                static_cast<long long>(
                    std::chrono::system_clock::now().time_since_epoch() /
                    std::chrono::nanoseconds(1)));
    std::fflush(stdout);
  }

  void WriteLags(const char* path) const {
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) Fail(std::string("cannot write ") + path);
    for (const Lag& lag : lags_) {
      std::fprintf(
          file, "%lld %lld\n",
          static_cast<long long>(lag.committed.time_since_epoch().count()),
          static_cast<long long>((lag.read - lag.committed).count()));
    }
    std::fclose(file);
  }

 private:
  struct Lag {
    WallTime committed;
    WallTime read;
  };

  ReadPacer::Taken TakeWhatIsThere(int64_t rows) {
    ReadPacer::Taken taken;
    while (rows_ < rows) {
      char* data = nullptr;
      const int size = PQgetCopyData(connection_.get(), &data, /*async=*/1);
      if (size == 0) break;
      if (size < 0) FailOnPostgres();
      taken.Add(static_cast<size_t>(size));
      if (size > kXLogDataHeader && data[0] == 'w') {
        const std::string_view message(data + kXLogDataHeader,
                                       size - kXLogDataHeader);
        if (message[0] == 'I') {
          ++rows_;
          ++taken.events;
        }
        if (message[0] == 'C' && notes_lags_) NoteLag(message);
      }
      PQfreemem(data);
    }
    return taken;
  }

  void NoteLag(std::string_view commit) {
    ByteReader reader(commit);
    reader.ReadBytes(kBeforeCommitTime);
    lags_.push_back({FromPostgresMicros(reader.ReadInt64()), WallNow()});
  }

  void Wait() {
    pollfd readable{PQsocket(connection_.get()), POLLIN, 0};
    poll(&readable, 1, 1000);
    if (PQconsumeInput(connection_.get()) == 0) FailOnPostgres();
  }

  // Keeps the connection alive; confirms nothing, so that the slot stays.
  void TellStatus() {
    const char status[34] = {'r'};
    if (PQputCopyData(connection_.get(), status, sizeof(status)) != 1 ||
        PQflush(connection_.get()) != 0) {
      FailOnPostgres();
    }
  }

  [[noreturn]] void FailOnPostgres() {
    Fail(PQerrorMessage(connection_.get()));
  }

  bool notes_lags_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  // Nothing is acknowledged: it pauses for as long as it may.
  ReadPacer pacer_{std::chrono::milliseconds(5)};
  Clock::time_point told_ = Clock::now();
  int64_t rows_ = 0;
  std::vector<Lag> lags_;
};

}  // namespace
}  // namespace walpost::bench

int main(int count, char** words) {
  if (count != 6 && count != 7) {
    walpost::bench::Fail(
        "usage: walpost_bench_discard CONNINFO SLOT PUBLICATION WARM_UP_ROWS "
        "ROWS [LAGS]");
  }
  std::signal(SIGTERM, [](int) { walpost::bench::told_to_end = 1; });
  const bool notes_lags = count == 7;
  walpost::bench::DiscardReader reader(words[1], words[2], words[3],
                                       notes_lags);
  reader.ReadUntil(std::stoll(words[4]));
  reader.ReadUntil(std::stoll(words[5]));
  if (notes_lags) reader.WriteLags(words[6]);
}
