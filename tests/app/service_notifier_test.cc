#include "app/process/service_notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/time.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::MatchesRegex;

// The socket of a service manager.
class Manager {
 public:
  // "@NAME" is an abstract address.
  explicit Manager(std::string name)
      : name_(std::move(name)),
        socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_.front() == '@') address.sun_path[0] = '\0';
    const size_t length = offsetof(sockaddr_un, sun_path) + name_.size();
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(length)),
              0);
  }
  ~Manager() {
    close(socket_);
    unlink(name_.c_str());
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  const std::string& name() const { return name_; }

  // The next datagram; empty: there is none.
  std::string Take() {
    char text[1024];
    const ssize_t length = recv(socket_, text, sizeof(text), 0);
    return length < 0 ? "" : std::string(text, static_cast<size_t>(length));
  }

 private:
  std::string name_;
  int socket_;
};

std::string AnyName() {
  return fmt::format("{}walpost-notify-{}", ::testing::TempDir(), getpid());
}

TEST(ServiceNotifierTest, ReadyIsToldOnceTheStateIsKnown) {
  Manager manager(AnyName());
  ServiceNotifier notifier({.socket = manager.name()});
  EXPECT_TRUE(notifier.is_enabled());
  notifier.OnStatus("starting", false);
  EXPECT_EQ(manager.Take(), "STATUS=starting\n");
  notifier.OnStatus("starting", false);
  EXPECT_EQ(manager.Take(), "");
  notifier.OnStatus("stuck: Kafka", true);
  EXPECT_EQ(manager.Take(), "READY=1\nSTATUS=stuck: Kafka\n");
  notifier.OnStatus("streaming", true);
  EXPECT_EQ(manager.Take(), "STATUS=streaming\n");
  notifier.OnStatus("streaming", true);
  EXPECT_EQ(manager.Take(), "");
}

TEST(ServiceNotifierTest, TheWatchdogIsToldEachTime) {
  Manager manager(AnyName());
  ServiceNotifier notifier(
      {.socket = manager.name(), .watchdog = milliseconds(500)});
  EXPECT_EQ(notifier.interval(), milliseconds(250));
  notifier.OnStatus("streaming", true);
  EXPECT_EQ(manager.Take(), "READY=1\nSTATUS=streaming\nWATCHDOG=1\n");
  notifier.OnStatus("streaming", true);
  EXPECT_EQ(manager.Take(), "WATCHDOG=1\n");
}

TEST(ServiceNotifierTest, AStatusComesEachSecondOrMoreOften) {
  EXPECT_EQ(ServiceNotifier({}).interval(), seconds(1));
  EXPECT_EQ(ServiceNotifier({.socket = "", .watchdog = seconds(30)}).interval(),
            seconds(1));
}

TEST(ServiceNotifierTest, AReloadIsToldWithItsTime) {
  Manager manager(AnyName());
  ServiceNotifier notifier({.socket = manager.name()});
  notifier.OnReloadBegin();
  notifier.OnReloadEnd();
  EXPECT_EQ(manager.Take(), "") << "the manager still waits for the start";
  notifier.OnStatus("streaming", true);
  manager.Take();
  const auto micros = [] {
    return std::chrono::duration_cast<microseconds>(
               MonotonicTime::clock::now().time_since_epoch())
        .count();
  };
  const int64_t before = micros();
  notifier.OnReloadBegin();
  const std::string begun = manager.Take();
  ASSERT_THAT(begun, MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\n"));
  const int64_t said = std::stoll(begun.substr(begun.rfind('=') + 1));
  EXPECT_GE(said, before);
  EXPECT_LE(said, micros());
  notifier.OnReloadEnd();
  EXPECT_EQ(manager.Take(), "READY=1\n");
}

TEST(ServiceNotifierTest, TheEndIsTold) {
  Manager manager(AnyName());
  const ServiceNotifier notifier({.socket = manager.name()});
  notifier.OnEnd();
  EXPECT_EQ(manager.Take(), "STOPPING=1\n");
}

TEST(ServiceNotifierTest, AnAbstractAddressIsOne) {
  Manager manager(fmt::format("@walpost-{}", getpid()));
  ServiceNotifier notifier({.socket = manager.name()});
  notifier.OnStatus("streaming", true);
  EXPECT_EQ(manager.Take(), "READY=1\nSTATUS=streaming\n");
}

TEST(ServiceNotifierTest, WhatIsDroppedIsToldAgain) {
  Manager manager(AnyName());
  ServiceNotifier notifier({.socket = manager.name()});
  // The queue of a datagram socket is short, and nobody reads.
  for (int i = 0; i < 5000; ++i) notifier.OnEnd();
  notifier.OnStatus("streaming", true);
  while (manager.Take() == "STOPPING=1\n") {
  }
  notifier.OnStatus("streaming", true);
  EXPECT_EQ(manager.Take(), "READY=1\nSTATUS=streaming\n");
}

TEST(ServiceNotifierTest, WithoutAManagerNothingIsSent) {
  for (const std::string& name :
       {std::string(), std::string("/nobody/listens"), std::string("relative"),
        std::string("@"), "/" + std::string(200, 'x')}) {
    ServiceNotifier notifier({.socket = name});
    EXPECT_FALSE(notifier.is_enabled()) << name;
    notifier.OnStatus("streaming", true);
    notifier.OnEnd();
  }
}

TEST(ServiceNotifierTest, TheEnvironmentNamesTheManager) {
  setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", fmt::format("{}", getpid()).c_str(), 1);
  ServiceNotifier::Options options = ServiceNotifier::OptionsFromEnvironment();
  EXPECT_EQ(options.socket, "/run/systemd/notify");
  EXPECT_EQ(options.watchdog, seconds(30));
  setenv("WATCHDOG_PID", "1", 1);  // of another process
  options = ServiceNotifier::OptionsFromEnvironment();
  EXPECT_EQ(options.watchdog, seconds(0));
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    unsetenv(name);
  }
  options = ServiceNotifier::OptionsFromEnvironment();
  EXPECT_EQ(options.socket, "");
  EXPECT_EQ(options.watchdog, seconds(0));
}

}  // namespace
}  // namespace walpost
