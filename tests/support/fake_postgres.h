// FakePostgres: a PostgreSQL server that knows its answers by heart.
//
//   FakePostgres server(context);
//   server.Answer("pg_current_wal_insert_lsn", {{"745", "0/300"}});
//   server.AnswerInTurn("confirmed_flush_lsn", {{{"0/200"}}, {{"0/300"}}});
//   ... run the code under test with server.options() ...
//   EXPECT_THAT(server.statements(), Contains(HasSubstr("DELETE")));
//
// Serves any number of connections on the test's own loop, without threads:
// what happens, and in which order, is the same in every run. Each statement
// has one result, whose bytes are the test's: the protocol is described in the
// manual under "Message Flow", and both of its query protocols are served.
//
// A statement without an answer fails the test, unless it cannot return rows.
// The loop's owner; the loop must outlive the server.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postgres/connect/connection.h"
#include "postgres/connect/server_options.h"

namespace walpost::testing {

// Runs the loop until the task is through, and no further.
template <typename T>
T Await(boost::asio::io_context& context, boost::asio::awaitable<T> task) {
  std::optional<T> result;
  boost::asio::co_spawn(
      context,
      [&]() -> boost::asio::awaitable<void> {
        result = co_await std::move(task);
      },
      boost::asio::detached);
  context.restart();
  while (!result && context.run_one() > 0) continue;
  return *std::move(result);
}

class FakePostgres {
 public:
  using Row = std::vector<std::optional<std::string>>;
  using Rows = std::vector<Row>;

  explicit FakePostgres(boost::asio::io_context& context)
      : directory_(MakeDirectory()),
        acceptor_(context, Protocol::endpoint(directory_ + "/.s.PGSQL.5432")) {
    Answer("current_setting('search_path')", {});
    boost::asio::co_spawn(context, Accept(), boost::asio::detached);
  }
  ~FakePostgres() { std::filesystem::remove_all(directory_); }
  FakePostgres(const FakePostgres&) = delete;
  FakePostgres& operator=(const FakePostgres&) = delete;

  ServerOptions options() const {
    return {"host=" + directory_ + " port=5432 user=u dbname=d", {}};
  }

  // Rows for statements that contain `words`. Of several that fit, the last
  // one given counts.
  void Answer(std::string words, Rows rows) {
    AnswerInTurn(std::move(words), {std::move(rows)});
  }
  // One after the other; the last one remains.
  void AnswerInTurn(std::string words, std::vector<Rows> answers) {
    Call(std::move(words), [answers = std::move(answers),
                            next = size_t{0}](const std::string&) mutable {
      const size_t now = next;
      if (next + 1 < answers.size()) ++next;
      return Success(answers[now]);
    });
  }
  void Fail(std::string words, std::string sqlstate, std::string text) {
    Call(std::move(words),
         [=](const std::string&) { return Error("ERROR", sqlstate, text); });
  }
  // The statement that comes after this many others fails, and no other one.
  void FailAfter(size_t statements) { until_failure_ = statements; }
  // The connection is lost in the middle of such a statement.
  void Drop(std::string words) {
    Call(std::move(words), [](const std::string&) { return std::nullopt; });
  }
  // Connections fail from now on; an empty SQLSTATE: they are accepted again.
  void Refuse(std::string sqlstate, std::string text) {
    refusal_ = sqlstate.empty() ? "" : Error("FATAL", sqlstate, text);
  }
  // Does something before it answers.
  void AnswerAfter(std::string words, Rows rows, std::function<void()> act) {
    Call(std::move(words), [=, act = std::move(act)](const std::string&) {
      act();
      return Success(rows);
    });
  }

  // A stream that begins (START_REPLICATION) shows these frames, and ends with
  // its connection.
  void Stream(std::vector<std::string> frames) { frames_ = std::move(frames); }
  // The flushed LSN of the last standby status update; 0: none came.
  uint64_t confirmed() const { return confirmed_; }

  // Sends NOTIFY to all connections: whoever waits for the server wakes up.
  void Notify(const std::string& channel) {
    const std::string text =
        Message('A', BigEndian(1, 4) + channel + '\0' + '\0');
    for (Protocol::socket* peer : *peers_) {
      boost::asio::write(*peer, boost::asio::buffer(text));
    }
  }

  // All statements so far, of all connections, in order.
  const std::vector<std::string>& statements() const { return statements_; }
  // Those that contain `words`.
  std::vector<std::string> StatementsWith(std::string_view words) const {
    std::vector<std::string> found;
    for (const std::string& sql : statements_) {
      if (sql.find(words) != std::string::npos) found.push_back(sql);
    }
    return found;
  }
  // Parameters of the last statement that had some.
  const Row& parameters() const { return parameters_; }
  // What later connections are told, as in 16.4.
  void SetVersion(std::string version) { version_ = std::move(version); }
  // What the last connection asked for when it began.
  const std::string& startup() const { return startup_; }
  size_t connections() const { return connections_; }

 private:
  using Protocol = boost::asio::local::stream_protocol;
  // nullopt: the connection is lost.
  using Reply =
      std::function<std::optional<std::string>(const std::string& sql)>;

  static std::string MakeDirectory() {
    std::string name = "/tmp/walpost_fake_postgres_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    return name;
  }

  static std::string BigEndian(uint64_t value, int bytes) {
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      text += static_cast<char>(value >> shift & 0xff);
    }
    return text;
  }
  static std::string Message(char type, const std::string& body) {
    return type + BigEndian(body.size() + 4, 4) + body;
  }
  static std::string Field(char code, const std::string& text) {
    return code + text + '\0';
  }
  static std::string Error(const std::string& severity,
                           const std::string& sqlstate,
                           const std::string& text) {
    return Message('E', Field('S', severity) + Field('V', severity) +
                            Field('C', sqlstate) + Field('M', text) + '\0');
  }
  static std::string Parameter(const std::string& name,
                               const std::string& value) {
    return Message('S', name + '\0' + value + '\0');
  }
  static std::string Ready() { return Message('Z', "I"); }

  static std::string Success(const Rows& rows) {
    constexpr uint64_t kText = 25;
    const size_t columns = rows.empty() ? 1 : rows[0].size();
    std::string head = BigEndian(columns, 2);
    for (size_t i = 0; i < columns; ++i) {
      head += "c" + BigEndian(0, 1 + 4 + 2) + BigEndian(kText, 4) +
              BigEndian(0xffff, 2) + BigEndian(0xffffffff, 4) + BigEndian(0, 2);
    }
    std::string answer = Message('T', head);
    for (const Row& row : rows) {
      std::string body = BigEndian(row.size(), 2);
      for (const std::optional<std::string>& value : row) {
        body += value ? BigEndian(value->size(), 4) + *value
                      : BigEndian(0xffffffff, 4);
      }
      answer += Message('D', body);
    }
    return answer + Message('C', std::string("SELECT") + '\0');
  }

  void Call(std::string words, Reply reply) {
    replies_.emplace_back(std::move(words), std::move(reply));
  }

  bool MustFail() {
    if (!until_failure_) return false;
    if (*until_failure_ == 0) {
      until_failure_.reset();
      return true;
    }
    --*until_failure_;
    return false;
  }
  static std::string Failure() {
    return Error("ERROR", "57014", "canceled") + Ready();
  }

  std::optional<std::string> AnswerTo(const std::string& sql) {
    for (auto reply = replies_.rbegin(); reply != replies_.rend(); ++reply) {
      if (sql.find(reply->first) == std::string::npos) continue;
      const bool is_of_connecting = reply->first == replies_[0].first;
      if (!is_of_connecting) statements_.push_back(sql);
      if (!is_of_connecting && MustFail()) return Failure();
      const std::optional<std::string> text = reply->second(sql);
      return text ? std::optional(*text + Ready()) : std::nullopt;
    }
    statements_.push_back(sql);
    if (MustFail()) return Failure();
    if (sql.starts_with("START_REPLICATION")) {
      std::string stream = Message('W', std::string(3, '\0'));
      for (const std::string& frame : frames_) stream += Message('d', frame);
      return stream;
    }
    if (sql.starts_with("SELECT") || sql.starts_with("WITH")) {
      ADD_FAILURE() << "no answer to: " << sql;
    }
    return Message('C', std::string("DONE") + '\0') + Ready();
  }

  static uint64_t TakeNumber(std::string_view& bytes, size_t size) {
    uint64_t number = 0;
    for (const char byte : bytes.substr(0, size)) {
      number = number << 8 | static_cast<unsigned char>(byte);
    }
    bytes.remove_prefix(size);
    return number;
  }
  static std::string_view TakeText(std::string_view& bytes) {
    const std::string_view text = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(text.size() + 1);
    return text;
  }
  static Row ParametersOf(std::string_view bind) {
    TakeText(bind);  // the portal
    TakeText(bind);  // the statement
    bind.remove_prefix(2 * TakeNumber(bind, 2));
    Row parameters(TakeNumber(bind, 2));
    for (std::optional<std::string>& parameter : parameters) {
      const uint64_t size = TakeNumber(bind, 4);
      if (size == 0xffffffff) continue;
      parameter.emplace(bind.substr(0, size));
      bind.remove_prefix(size);
    }
    return parameters;
  }

  boost::asio::awaitable<void> Accept() {
    for (;;) {
      Protocol::socket peer =
          co_await acceptor_.async_accept(boost::asio::use_awaitable);
      ++connections_;
      boost::asio::co_spawn(acceptor_.get_executor(), Serve(std::move(peer)),
                            boost::asio::detached);
    }
  }

  // Ends with an exception when the client closes the connection, which is
  // then nobody's business.
  boost::asio::awaitable<void> Serve(Protocol::socket peer) {
    // The loop may outlive the server.
    const auto leave = [peers = peers_](Protocol::socket* left) {
      peers->erase(left);
    };
    const std::unique_ptr<Protocol::socket, decltype(leave)> here(&peer, leave);
    startup_ = co_await Read(peer);
    if (!refusal_.empty()) {
      co_await boost::asio::async_write(peer, boost::asio::buffer(refusal_),
                                        boost::asio::use_awaitable);
      co_return;
    }
    peers_->insert(&peer);
    std::string parsed;
    std::optional<std::string> answer =
        Message('R', BigEndian(0, 4)) + Parameter("server_version", version_) +
        Parameter("server_encoding", "UTF8") +
        Parameter("client_encoding", "UTF8") +
        Parameter("standard_conforming_strings", "on") +
        Message('K', BigEndian(4711, 4) + BigEndian(1, 4)) + Ready();
    for (;;) {
      co_await boost::asio::async_write(peer, boost::asio::buffer(*answer),
                                        boost::asio::use_awaitable);
      char type = 0;
      co_await boost::asio::async_read(peer, boost::asio::buffer(&type, 1),
                                       boost::asio::use_awaitable);
      std::string body = co_await Read(peer);
      answer.emplace();
      if (type == 'Q') {
        body.pop_back();  // its zero byte
        answer = AnswerTo(body);
      } else if (type == 'P') {
        std::string_view rest = body;
        TakeText(rest);  // the name
        parsed = TakeText(rest);
      } else if (type == 'B') {
        if (Row given = ParametersOf(body); !given.empty()) parameters_ = given;
      } else if (type == 'S') {
        answer = AnswerTo(parsed);
        if (answer) *answer = Message('1', "") + Message('2', "") + *answer;
      } else if (type == 'd' && body[0] == 'r') {
        std::string_view update = std::string_view(body).substr(1);
        TakeNumber(update, 8);  // written
        confirmed_ = TakeNumber(update, 8);
      } else if (type != 'D' && type != 'E' && type != 'H') {
        co_return;
      }
      if (!answer) co_return;
    }
  }

  // A length, and what follows it.
  static boost::asio::awaitable<std::string> Read(Protocol::socket& peer) {
    unsigned char head[4];
    co_await boost::asio::async_read(peer, boost::asio::buffer(head),
                                     boost::asio::use_awaitable);
    const uint32_t size = uint32_t{head[0]} << 24 | uint32_t{head[1]} << 16 |
                          uint32_t{head[2]} << 8 | uint32_t{head[3]};
    std::string body(size - 4, '\0');
    co_await boost::asio::async_read(peer, boost::asio::buffer(body),
                                     boost::asio::use_awaitable);
    co_return body;
  }

  std::string directory_;
  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  std::deque<std::pair<std::string, Reply>> replies_;  // a reply may add some
  std::vector<std::string> statements_;
  using Peers = std::set<Protocol::socket*>;
  std::shared_ptr<Peers> peers_ = std::make_shared<Peers>();
  std::vector<std::string> frames_;
  uint64_t confirmed_ = 0;
  Row parameters_;
  std::string version_ = "17.2";
  std::string startup_;
  std::string refusal_;                  // of connections; empty: none
  std::optional<size_t> until_failure_;  // statements; nullopt: none fails
  size_t connections_ = 0;
};

// The comment that a COMMENT statement writes, without quotes in it.
inline std::string CommentOf(const std::string& statement) {
  const size_t begin = statement.find(" IS '") + 5;
  return statement.substr(begin, statement.rfind('\'') - begin);
}

// A session with the server.
inline std::unique_ptr<Connection> Connect(boost::asio::io_context& context,
                                           const FakePostgres& server) {
  ConnectionOptions options;
  options.server = server.options();
  auto connected =
      Await(context, Connection::Connect(context.get_executor(), options));
  EXPECT_TRUE(connected.ok()) << connected.status();
  return *std::move(connected);
}

}  // namespace walpost::testing
