#include "admin/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "admin/relay_status_fixture.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kPatience = 10s;

// A connection to the server under test, on the same thread: it turns the
// server's loop while it waits.
class Client {
 public:
  Client(asio::io_context& io, uint16_t port, const char* host = "127.0.0.1")
      : io_(io), socket_(io) {
    socket_.connect({asio::ip::make_address(host), port});
    socket_.non_blocking(true);
  }

  // False when the server takes no more.
  bool Send(std::string_view bytes) {
    boost::system::error_code error;
    asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), error);
    return !error;
  }

  // A whole response; what came until then when the server closed or patience
  // ran out.
  std::string Receive(bool has_body = true) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!TakeResponse(has_body)) {
      if (!ReadSome() || std::chrono::steady_clock::now() > give_up) {
        response_ = std::exchange(received_, {});
        break;
      }
    }
    return std::move(response_);
  }

  enum class End { kOpen, kClosed, kReset };

  // How the connection stands after `time`, or as soon as it has ended.
  End EndWithin(std::chrono::milliseconds time) {
    const auto give_up = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < give_up) {
      if (!ReadSome()) {
        return error_ == asio::error::eof ? End::kClosed : End::kReset;
      }
    }
    return End::kOpen;
  }

  // Whether the server has sent anything that was not received.
  bool has_unread() const { return !received_.empty(); }

  std::string Ask(std::string_view head) {
    Send(fmt::format("{}\r\n\r\n", head));
    return Receive();
  }

 private:
  bool TakeResponse(bool has_body) {
    const size_t head_end = received_.find("\r\n\r\n");
    if (head_end == std::string::npos) return false;
    size_t size = head_end + 4;
    constexpr std::string_view kLength = "Content-Length: ";
    const size_t length_at = received_.find(kLength);
    if (has_body && length_at < head_end) {
      size += std::stoul(received_.substr(length_at + kLength.size()));
    }
    if (received_.size() < size) return false;
    response_ = received_.substr(0, size);
    received_.erase(0, size);
    return true;
  }

  // False when the server has closed.
  bool ReadSome() {
    io_.restart();
    io_.run_for(1ms);
    char bytes[4096];
    const size_t count = socket_.read_some(asio::buffer(bytes), error_);
    received_.append(bytes, count);
    return !error_ || error_ == asio::error::would_block;
  }

  asio::io_context& io_;
  tcp::socket socket_;
  boost::system::error_code error_;  // of the last read
  std::string received_;
  std::string response_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void Start() {
    auto server = HttpServer::Create(
        io_.get_executor(), options_,
        {.version = "1.2.3", .status = [this] { return status_; }});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  Client Connect() { return Client(io_, server_->port()); }
  void Turn(std::chrono::milliseconds time) {
    io_.restart();
    io_.run_for(time);
  }

  asio::io_context io_{1};
  HttpOptions options_{.listen = "127.0.0.1:0"};
  RelayStatus status_ = SomeStatus();
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAGet) {
  Start();
  EXPECT_EQ(Connect().Ask("GET /healthz HTTP/1.1\r\nHost: x"),
            "HTTP/1.1 200 OK\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Cache-Control: no-store\r\n"
            "Vary: Accept\r\n"
            "Content-Security-Policy: default-src 'none'; script-src 'self'; "
            "style-src 'self'; connect-src 'self'; img-src data:; base-uri "
            "'none'; form-action 'none'; frame-ancestors 'none'\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\n"
            "Referrer-Policy: no-referrer\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "X-Frame-Options: DENY\r\n"
            "Content-Length: 3\r\n\r\n"
            "ok\n");
}

TEST_F(HttpServerTest, AnswersABrowserWithThePage) {
  Start();
  EXPECT_THAT(Connect().Ask("GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html"),
              AllOf(HasSubstr("Content-Type: text/html; charset=utf-8\r\n"),
                    HasSubstr("\r\n\r\n<!doctype html>\n")));
  EXPECT_THAT(Connect().Ask("GET / HTTP/1.1\r\nHost: x"),
              HasSubstr("\r\n\r\nwalpost 1.2.3\n"));
}

TEST_F(HttpServerTest, ListensOnIpv6) {
  options_.listen = "[::1]:0";
  auto server = HttpServer::Create(
      io_.get_executor(), options_,
      {.version = "1.2.3", .status = [this] { return status_; }});
  if (!server.ok()) GTEST_SKIP() << "no IPv6 here: " << server.status();
  Client client(io_, (*server)->port(), "::1");
  EXPECT_THAT(client.Ask("GET /healthz HTTP/1.1\r\nHost: x"),
              EndsWith("\r\n\r\nok\n"));
}

TEST_F(HttpServerTest, ShowsTheStatusOfTheMoment) {
  Start();
  Client client = Connect();
  EXPECT_THAT(client.Ask("GET /readyz HTTP/1.1\r\nHost: x"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    EndsWith("\r\n\r\nstreaming\n")));
  status_.state = RelayState::kStuck;
  status_.reason = "Kafka is away";
  EXPECT_THAT(client.Ask("GET /readyz HTTP/1.1\r\nHost: x"),
              AllOf(StartsWith("HTTP/1.1 503 Service Unavailable\r\n"),
                    EndsWith("\r\n\r\nstuck: Kafka is away\n")));
}

TEST_F(HttpServerTest, AnswersTheFirstOfPipelinedRequestsAndCloses) {
  Start();
  Client client = Connect();
  client.Send(
      "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Receive(), AllOf(StartsWith("HTTP/1.1 200 "),
                                      HasSubstr("Connection: close\r\n")));
  EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed);
  EXPECT_FALSE(client.has_unread());
}

TEST_F(HttpServerTest, ClosesWhenAskedTo) {
  Start();
  Client client = Connect();
  EXPECT_THAT(
      client.Ask("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close"),
      HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed);
}

TEST_F(HttpServerTest, AnswersHttp10AndCloses) {
  Start();
  Client client = Connect();
  EXPECT_THAT(client.Ask("GET /healthz HTTP/1.0"),
              AllOf(StartsWith("HTTP/1.0 200 OK\r\n"), EndsWith("ok\n")));
  EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed);
}

TEST_F(HttpServerTest, AnswersAHeadWithoutTheBody) {
  Start();
  Client client = Connect();
  client.Send("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Receive(/*has_body=*/false),
              EndsWith("Content-Length: 3\r\n\r\n"));
  EXPECT_THAT(client.Ask("GET /healthz HTTP/1.1\r\nHost: x"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, RefusesOtherMethods) {
  Start();
  for (const char* request :
       {"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "PUT /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\n",
        "DELETE /status HTTP/1.1\r\nHost: x\r\n\r\n",
        "BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n"}) {
    Client client = Connect();
    client.Send(request);
    EXPECT_THAT(client.Receive(),
                AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"),
                      HasSubstr("Allow: GET, HEAD\r\n")))
        << request;
  }
}

TEST_F(HttpServerTest, RefusesABody) {
  Start();
  Client client = Connect();
  client.Send("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed);
}

TEST_F(HttpServerTest, RefusesARequestOverTheLimit) {
  Start();
  const std::string start = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Pad: ";
  const std::string end = "\r\n\r\n";
  const size_t room = options_.max_request_bytes - start.size() - end.size();
  Client fits = Connect();
  fits.Send(start + std::string(room, 'x') + end);
  EXPECT_THAT(fits.Receive(), StartsWith("HTTP/1.1 200 OK\r\n"));
  for (const size_t surplus : {100u, 60'000u}) {
    Client client = Connect();
    client.Send(start + std::string(room + surplus, 'x') + end);
    EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 431 ")) << surplus;
    EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed) << surplus;
  }
}

TEST_F(HttpServerTest, LetsTheClientFinishWhatItRefused) {
  Start();
  Client client = Connect();
  const std::string part(options_.max_request_bytes, 'x');
  client.Send("GET /" + part);
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 431 "));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.Send(part)) << i;
    Turn(10ms);
  }
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
  Start();
  Client client = Connect();
  client.Send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7) + "\r\n\r\n");
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed);
}

TEST_F(HttpServerTest, SurvivesEveryPrefixOfARequest) {
  Start();
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  for (size_t size = 0; size < request.size(); ++size) {
    Client client = Connect();
    client.Send(request.substr(0, size));
    Turn(1ms);
  }
  EXPECT_THAT(Connect().Ask("GET /healthz HTTP/1.1\r\nHost: x"),
              EndsWith("ok\n"));
}

TEST_F(HttpServerTest, ClosesAnIdleConnection) {
  options_.idle_timeout = 50ms;
  Start();
  Client silent = Connect();
  EXPECT_EQ(silent.EndWithin(kPatience), Client::End::kClosed);
  Client halfway = Connect();
  halfway.Send("GET /healthz HT");
  EXPECT_EQ(halfway.EndWithin(kPatience), Client::End::kClosed);
  Client kept = Connect();
  kept.Ask("GET /healthz HTTP/1.1\r\nHost: x");
  EXPECT_EQ(kept.EndWithin(kPatience), Client::End::kClosed);
}

TEST_F(HttpServerTest, ClosesTheConnectionThatWaitedLongestToMakeRoom) {
  options_.max_connections = 3;
  Start();
  constexpr auto kGet = "GET /healthz HTTP/1.1\r\nHost: x";
  Client kept_alive = Connect();
  kept_alive.Ask(kGet);
  Client halfway = Connect();
  halfway.Send("GET /healthz HT");
  Turn(10ms);
  Client silent = Connect();
  Turn(10ms);
  kept_alive.Ask(kGet);
  // halfway, silent, kept_alive is the order in which they began to wait.
  Client first = Connect();
  EXPECT_THAT(first.Ask(kGet), EndsWith("ok\n"));
  EXPECT_NE(halfway.EndWithin(kPatience), Client::End::kOpen);
  Client second = Connect();
  EXPECT_THAT(second.Ask(kGet), EndsWith("ok\n"));
  EXPECT_NE(silent.EndWithin(kPatience), Client::End::kOpen);
  EXPECT_THAT(kept_alive.Ask(kGet), EndsWith("ok\n"));
}

TEST_F(HttpServerTest, AsManyStayOpenAsAreConfigured) {
  options_.max_connections = 3;
  options_.idle_timeout = 60s;
  Start();
  Client first = Connect();
  Turn(10ms);
  Client second = Connect();
  Turn(10ms);
  Client third = Connect();
  EXPECT_EQ(first.EndWithin(100ms), Client::End::kOpen);
  Client fourth = Connect();
  EXPECT_NE(first.EndWithin(kPatience), Client::End::kOpen);
  EXPECT_EQ(second.EndWithin(50ms), Client::End::kOpen);
  EXPECT_EQ(third.EndWithin(50ms), Client::End::kOpen);
  EXPECT_EQ(fourth.EndWithin(50ms), Client::End::kOpen);
}

TEST_F(HttpServerTest, PausesWhenDescriptorsRunOut) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan needs descriptors of its own";
#endif
  Start();
  Client client = Connect();
  client.Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  io_.restart();
  const size_t handlers_run = io_.run_for(100ms);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_LE(handlers_run, 2u) << "it tries in a tight loop";
  EXPECT_THAT(client.Receive(), EndsWith("ok\n"));
}

// A limit at which no descriptor is free while the server listens.
TEST_F(HttpServerTest, AnswersWithoutAFreeDescriptor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan needs descriptors of its own";
#endif
  Start();
  Client first = Connect();
  Client second = Connect();
  Client third = Connect();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int free_descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(free_descriptor, 0);
  close(free_descriptor);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(free_descriptor),
                    .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  constexpr auto kGet = "GET /healthz HTTP/1.1\r\nHost: x";
  const std::string only = third.Ask(kGet);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(only, EndsWith("ok\n"));
  EXPECT_NE(first.EndWithin(kPatience), Client::End::kOpen);
}

TEST_F(HttpServerTest, BreaksOffWhatIsOpenWhenItEnds) {
  Start();
  Client client = Connect();
  client.Ask("GET /healthz HTTP/1.1\r\nHost: x");
  server_.reset();
  EXPECT_EQ(client.EndWithin(kPatience), Client::End::kClosed);
  // Nothing of it keeps the loop busy.
  io_.restart();
  io_.run_for(kPatience);
  EXPECT_TRUE(io_.stopped());
}

// It ends after every step of three answers on two connections in turn.
TEST_F(HttpServerTest, AsksForNoStatusOnceItIsGone) {
  constexpr std::string_view kRequest =
      "GET /status HTTP/1.1\r\nHost: x\r\n\r\n";
  int most_calls = 0;
  for (int steps = 0; steps < 30; ++steps) {
    int calls = 0;
    auto server =
        HttpServer::Create(io_.get_executor(), options_,
                           {.version = "1.2.3", .status = [this, &calls] {
                              ++calls;
                              return status_;
                            }});
    ASSERT_TRUE(server.ok()) << server.status();
    Client client(io_, (*server)->port());
    Client other(io_, (*server)->port());
    client.Send(kRequest);
    other.Send(kRequest);
    bool sent_again = false;
    for (int step = 0; step < steps; ++step) {
      io_.restart();
      io_.poll_one();
      if (calls > 0 && !std::exchange(sent_again, true)) client.Send(kRequest);
    }
    const int calls_before = calls;
    server->reset();
    client.EndWithin(kPatience);
    other.EndWithin(kPatience);
    EXPECT_EQ(calls, calls_before) << "ended after step " << steps;
    most_calls = std::max(most_calls, calls);
  }
  EXPECT_EQ(most_calls, 3) << "too few steps to see all answers";
}

TEST_F(HttpServerTest, LeavesNothingBehindInALoopThatHasEnded) {
  Start();
  Client client = Connect();
  client.Ask("GET /healthz HTTP/1.1\r\nHost: x");
  client.Send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
  // The fixture destroys the server, then the loop, handlers and all.
}

TEST_F(HttpServerTest, NamesAPortInUseAndTheRemedy) {
  Start();
  options_.listen = fmt::format("127.0.0.1:{}", server_->port());
  const auto second = HttpServer::Create(
      io_.get_executor(), options_,
      {.version = "1.2.3", .status = [this] { return status_; }});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(second.status().message()),
            fmt::format("http.listen: cannot listen on 127.0.0.1:{}: Address "
                        "already in use; another process listens there; "
                        "choose another port",
                        server_->port()));
}

TEST_F(HttpServerTest, NamesAnAddressOfAnotherMachine) {
  options_.listen = "192.0.2.1:9187";
  const auto server = HttpServer::Create(
      io_.get_executor(), options_,
      {.version = "1.2.3", .status = [this] { return status_; }});
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()),
              AllOf(StartsWith("http.listen: cannot listen on 192.0.2.1:9187"),
                    HasSubstr("give an address of this machine")));
}

TEST_F(HttpServerTest, TakesItsPortAgainAtOnce) {
  Start();
  options_.listen = fmt::format("127.0.0.1:{}", server_->port());
  // The server's end closes first, and lingers in TIME_WAIT.
  Client client = Connect();
  client.Ask("GET /healthz HTTP/1.0");
  server_.reset();
  Start();
  EXPECT_THAT(Connect().Ask("GET /healthz HTTP/1.1\r\nHost: x"),
              EndsWith("ok\n"));
}

}  // namespace
}  // namespace walpost
