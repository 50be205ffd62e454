// Connections to a server that knows its answers by heart, one per message.
#include "postgres/connect/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "delivery/error_policy.h"
#include "postgres/connect/sqlstate.h"
#include "postgres/slot/slot.h"
#include "postgres/stream/replication_stream.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;
using ::testing::Not;

// A message of the server: type, length, body (manual, "Message Formats").
std::string Message(char type, const std::string& body) {
  const size_t size = body.size() + 4;
  std::string message(1, type);
  for (int shift = 24; shift >= 0; shift -= 8) {
    message += static_cast<char>(size >> shift & 0xff);
  }
  return message + body;
}

std::string Field(char code, const std::string& text) {
  return code + text + '\0';
}

std::string ErrorResponse(const std::string& severity,
                          const std::string& sqlstate, const std::string& text,
                          const std::string& more = "") {
  return Message('E', Field('S', severity) + Field('V', severity) +
                          Field('C', sqlstate) + Field('M', text) + more +
                          '\0');
}

std::string Ready() { return Message('Z', "I"); }

std::string Welcome(const std::string& version) {
  const auto parameter = [](const std::string& name, const std::string& value) {
    return Message('S', name + '\0' + value + '\0');
  };
  return Message('R', std::string(4, '\0')) +
         parameter("server_version", version) +
         parameter("client_encoding", "UTF8") +
         parameter("standard_conforming_strings", "on") + Ready();
}

// To the statement that pins the settings, and to that which reads them back.
std::string Pinned() {
  return Message('C', std::string("SELECT 1") + '\0') + Ready();
}

// Listens on a socket in a directory of its own; serves one connection.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::string> answers)
      : directory_(MakeDirectory()), answers_(std::move(answers)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (directory_ + "/.s.PGSQL.5432").copy(address.sun_path, 100);
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
              0);
    EXPECT_EQ(listen(listener_, 1), 0);
    thread_ = std::thread([this] { Serve(); });
  }

  ~ScriptedServer() {
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listener_);
    std::filesystem::remove_all(directory_);
  }

  std::string conninfo() const {
    return "host=" + directory_ + " port=5432 user=u dbname=d password=hunter2";
  }

  // What the client sent. Waits until every answer is given.
  const std::vector<std::string>& Received() {
    if (thread_.joinable()) thread_.join();
    return received_;
  }

 private:
  static std::string MakeDirectory() {
    std::string name = "/tmp/walpost_connection_test_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    return name;
  }

  void Serve() {
    const int peer = accept(listener_, nullptr, nullptr);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    for (const std::string& answer : answers_) {
      char buffer[4096];
      const ssize_t size = recv(peer, buffer, sizeof(buffer), 0);
      if (size <= 0) break;
      received_.emplace_back(buffer, static_cast<size_t>(size));
      if (send(peer, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
    close(peer);
  }

  std::string directory_;
  std::vector<std::string> answers_;
  std::vector<std::string> received_;
  int listener_ = -1;
  std::thread thread_;
};

template <typename T>
T Await(asio::io_context& context, asio::awaitable<T> task) {
  std::optional<T> result;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> { result = co_await std::move(task); },
      asio::detached);
  context.restart();
  context.run();
  EXPECT_TRUE(result.has_value());
  return *std::move(result);
}

absl::StatusOr<std::unique_ptr<Connection>> Connect(
    asio::io_context& context, const ScriptedServer& server) {
  ConnectionOptions options;
  options.server.conninfo = server.conninfo();
  options.replication = true;
  return Await(context, Connection::Connect(context.get_executor(), options));
}

TEST(ConnectionTest, ConnectsAndSaysWhoItIs) {
  ScriptedServer server({Welcome("17.2"), Pinned(), Pinned()});
  asio::io_context context;
  const auto connection = Connect(context, server);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ((*connection)->server_version(), 170002);
  const std::string& startup = server.Received().at(0);
  const std::pair<std::string, std::string> rows[] = {
      {"user", "u"},
      {"database", "d"},
      {"replication", "database"},
      {"application_name", "walpost"},
      {"client_encoding", "UTF8"},
  };
  for (const auto& [name, value] : rows) {
    EXPECT_THAT(startup, HasSubstr('\0' + name + '\0' + value + '\0'));
  }
}

// The server is named, not the files that libpq reads.
TEST(ConnectionTest, P10AServerThatTakesTheConnectionAndIsSilentIsNamed) {
  ScriptedServer server({"", ""});
  asio::io_context context;
  ConnectionOptions options;
  options.server.conninfo = server.conninfo();
  options.connect_timeout = std::chrono::milliseconds(300);
  const absl::Status status =
      Await(context, Connection::Connect(context.get_executor(), options))
          .status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("no answer within the time limit"));
}

TEST(ConnectionTest, TheTimeLimitOfConnectingEndsWithIt) {
  ScriptedServer server({Welcome("17.2"), Pinned(), Pinned(), Pinned()});
  asio::io_context context;
  ConnectionOptions options;
  options.server.conninfo = server.conninfo();
  options.connect_timeout = std::chrono::milliseconds(500);
  auto connection =
      Await(context, Connection::Connect(context.get_executor(), options));
  ASSERT_TRUE(connection.ok()) << connection.status();
  std::this_thread::sleep_for(*options.connect_timeout);
  const absl::Status late =
      Await(context, (*connection)->Execute("SELECT 1")).status();
  EXPECT_TRUE(late.ok()) << late;
}

struct Refusal {
  const char* sqlstate;
  const char* message;
};

// libpq does not hand out the SQLSTATE of a refused connection.
TEST(ConnectionTest, ARefusalHasTheRemedyOfItsSqlstate) {
  const Refusal rows[] = {
      {"28P01", "password authentication failed for user \"u\""},
      {"28000",
       "no pg_hba.conf entry for host \"::1\", user \"u\", database "
       "\"d\", no encryption"},
      {"28000",
       "pg_hba.conf rejects connection for host \"::1\", user \"u\", "
       "database \"d\", no encryption"},
      {"28000", "role \"u\" does not exist"},
      {"28000", "role \"u\" is not permitted to log in"},
      {"28000", "connection requires a valid client certificate"},
      {"3D000", "database \"d\" does not exist"},
      {"55000", "database \"d\" is not currently accepting connections"},
      {"42501", "permission denied for database \"d\""},
      {"42501", "must be superuser or replication role to start walsender"},
      {"42501", "permission denied to start WAL sender"},
      {"42704", "unrecognized configuration parameter \"no_such\""},
      {"53300", "sorry, too many clients already"},
      {"53300", "too many connections for role \"u\""},
      {"53300", "too many connections for database \"d\""},
      {"53300",
       "remaining connection slots are reserved for roles with the "
       "SUPERUSER attribute"},
      {"53300",
       "number of requested standby connections exceeds "
       "max_wal_senders (currently 10)"},
      {"57P03", "the database system is starting up"},
      {"57P03", "the database system is shutting down"},
      {"57P03", "the database system is in recovery mode"},
      {"57P03", "the database system is not yet accepting connections"},
      {"57P01", "terminating connection due to administrator command"},
      {"08P01", "unsupported startup parameter: replication"},
  };
  for (const Refusal& row : rows) {
    const ScriptedServer server(
        {ErrorResponse("FATAL", row.sqlstate, row.message)});
    asio::io_context context;
    const absl::Status status = Connect(context, server).status();
    EXPECT_EQ(status.code(), ClassifySqlstate(row.sqlstate).remedy) << status;
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr(row.message));
    EXPECT_THAT(message, Not(HasSubstr("hunter2")));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

// What others compare with (sqlstate.h), and what decides on the hint.
TEST(ConnectionTest, ARefusalKeepsItsSqlstate) {
  const Refusal rows[] = {
      {"28P01", "password authentication failed for user \"u\""},
      {"28000",
       "pg_hba.conf rejects connection for host \"::1\", user \"u\", "
       "database \"d\", no encryption"},
      {"3D000", "database \"d\" does not exist"},
      {"42501", "permission denied for database \"d\""},
      {"57P03", "the database system is shutting down"},
      {"53300", "too many connections for role \"u\""},
  };
  for (const Refusal& row : rows) {
    const ScriptedServer server(
        {ErrorResponse("FATAL", row.sqlstate, row.message)});
    asio::io_context context;
    EXPECT_EQ(SqlstateOf(Connect(context, server).status()), row.sqlstate)
        << row.message;
  }
}

TEST(ConnectionTest, AnErrorOfTheServerIsOneLineWithItsSqlstate) {
  const ScriptedServer server(
      {Welcome("17.2"), Pinned(), Pinned(),
       ErrorResponse("ERROR", "55006", "slot is active\nfor PID 4711",
                     Field('D', "A detail.") + Field('W', "A\ncontext.")) +
           Ready()});
  asio::io_context context;
  auto connection = Connect(context, server);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const absl::Status status =
      Await(context, (*connection)->Execute("SELECT 1")).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(),
            "SELECT 1: slot is active for PID 4711 (A detail.) (A context.) "
            "[55006]; another process uses the slot");
  EXPECT_EQ(SqlstateOf(status), kSqlstateObjectInUse);
}

struct Literal {
  const char* text;
  const char* sql;
};

TEST(ConnectionTest, WritesAnyTextAsALiteral) {
  const ScriptedServer server({Welcome("17.2"), Pinned(), Pinned()});
  asio::io_context context;
  auto connection = Connect(context, server);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const Literal rows[] = {{"", "''"},
                          {"a", "'a'"},
                          {"it's", "'it''s'"},
                          {"a\"b", "'a\"b'"},
                          {"a\\b", " E'a\\\\b'"},
                          // Of a database in SQL_ASCII.
                          {"a\xe4", "E'\\x61\\xe4'"},
                          {"\n\xe4", "E'\\x0a\\xe4'"}};
  for (const Literal& row : rows) {
    EXPECT_EQ((*connection)->Literal(row.text), row.sql);
  }
}

struct Start {
  const char* slot;
  uint64_t lsn;
  const char* publication;
  bool messages;
  const char* command;
};

TEST(StartReplicationCommandTest, QuotesItsNamesAndSaysWhatItWants) {
  const Start rows[] = {
      {"walpost", 0, "walpost", false,
       R"(START_REPLICATION SLOT "walpost" LOGICAL 0/0 (proto_version '1', )"
       R"(publication_names '"walpost"', messages 'false'))"},
      {"orders_1", 0x16'B374D848, "Orders", true,
       R"(START_REPLICATION SLOT "orders_1" LOGICAL 16/B374D848 )"
       R"((proto_version '1', publication_names '"Orders"', )"
       R"(messages 'true'))"},
      {"s", 1, "it's", false,
       R"(START_REPLICATION SLOT "s" LOGICAL 0/1 (proto_version '1', )"
       R"(publication_names '"it''s"', messages 'false'))"},
      {"s", 1, "a\"b, c", false,
       R"(START_REPLICATION SLOT "s" LOGICAL 0/1 (proto_version '1', )"
       R"(publication_names '"a""b, c"', messages 'false'))"},
      // There are no escapes in a replication command.
      {"s", 1, "a\\b", false,
       R"(START_REPLICATION SLOT "s" LOGICAL 0/1 (proto_version '1', )"
       R"(publication_names '"a\b"', messages 'false'))"},
  };
  for (const Start& row : rows) {
    const StreamRequest request{row.slot, Lsn(row.lsn), row.publication,
                                row.messages};
    EXPECT_EQ(StartReplicationCommand(request), row.command);
  }
}

// libpq would block for what the server still owes after the end of a copy.
TEST(ReplicationStreamTest, AnEndThatIsNotWholeYetIsAwaited) {
  ScriptedServer server({Welcome("15.0"), Pinned(), Pinned(),
                         Message('W', std::string(3, '\0')) + Message('c', ""),
                         Message('C', std::string("COPY 0") + '\0'),
                         "an answer to nothing"});
  asio::io_context context;
  auto connection = Connect(context, server);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const absl::Status began = Await(
      context, (*connection)->StartCopyBoth("START_REPLICATION SLOT \"s\""));
  ASSERT_TRUE(began.ok()) << began;
  ReplicationStream stream(**connection);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(stream.NextFrame(), ReplicationStream::Read::kEmpty);
    EXPECT_TRUE(stream.Receive());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(stream.status().ok()) << stream.status();
}

// Whatever is confirmed, the server may remove.
TEST(ReplicationStreamTest, P2TheServerIsToldWhatIsConfirmedAsFlushed) {
  ScriptedServer server({Welcome("15.0"), Pinned(), Pinned(),
                         Message('W', std::string(3, '\0')), ""});
  asio::io_context context;
  auto connection = Connect(context, server);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const absl::Status began = Await(
      context, (*connection)->StartCopyBoth("START_REPLICATION SLOT \"s\""));
  ASSERT_TRUE(began.ok()) << began;
  ReplicationStream stream(**connection);
  ASSERT_TRUE(stream
                  .SendStatus({.received = Lsn(0x300),
                               .confirmed = Lsn(0x200),
                               .reply_requested = true})
                  .ok());
  const std::string& sent = server.Received().at(4);
  const auto lsn = [](char high) { return std::string(6, '\0') + high + '\0'; };
  EXPECT_EQ(sent.substr(0, 6), std::string("d\0\0\0\x26r", 6));
  EXPECT_EQ(sent.substr(6, 24), lsn(3) + lsn(2) + lsn(2));
  EXPECT_EQ(sent.back(), '\1');
}

struct Created {
  const char* version;
  SlotKind kind;
  SlotSnapshot snapshot;
  SlotFailover failover;
  const char* command;
};

TEST(CreateSlotTest, EachVersionHasItsOptions) {
  constexpr auto kPermanent = SlotKind::kPermanent;
  constexpr auto kNone = SlotSnapshot::kNone;
  constexpr auto kUse = SlotSnapshot::kUse;
  const Created rows[] = {
      {"14.9", kPermanent, kNone, SlotFailover::kNo,
       "\"s\" LOGICAL pgoutput NOEXPORT_SNAPSHOT"},
      {"14.9", kPermanent, kUse, SlotFailover::kNo,
       "\"s\" LOGICAL pgoutput USE_SNAPSHOT"},
      {"15.0", kPermanent, kNone, SlotFailover::kNo,
       "\"s\" LOGICAL pgoutput (SNAPSHOT 'nothing')"},
      {"16.1", SlotKind::kTemporary, kUse, SlotFailover::kNo,
       "\"s\" TEMPORARY LOGICAL pgoutput (SNAPSHOT 'use')"},
      {"17.0", kPermanent, kNone, SlotFailover::kYes,
       "\"s\" LOGICAL pgoutput (SNAPSHOT 'nothing', FAILOVER)"},
      {"17.0", kPermanent, kUse, SlotFailover::kYes,
       "\"s\" LOGICAL pgoutput (SNAPSHOT 'use', FAILOVER)"},
  };
  for (const Created& row : rows) {
    ScriptedServer server(
        {Welcome(row.version), Pinned(), Pinned(),
         ErrorResponse("ERROR", "42710", "it exists") + Ready()});
    asio::io_context context;
    auto connection = Connect(context, server);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const MonotonicTime deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const auto slot =
        Await(context, CreateSlot(**connection, "s", row.kind, row.snapshot,
                                  row.failover, deadline));
    EXPECT_EQ(SqlstateOf(slot.status()), kSqlstateDuplicateObject);
    EXPECT_EQ(server.Received().at(3),
              Message('Q', std::string("CREATE_REPLICATION_SLOT ") +
                               row.command + '\0'));
  }
}

}  // namespace
}  // namespace walpost
