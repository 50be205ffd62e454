// RedisServer: a real redis-server of a test, on a free port, in a folder of
// its own, which ends with it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace walpost::testing {

class RedisServer {
 public:
  // `settings`: further arguments of redis-server.
  explicit RedisServer(std::vector<std::string> settings = {}) {
    char pattern[] = "/tmp/walpost-redis-XXXXXX";
    folder_ = mkdtemp(pattern);
    port_ = FreePort();
    settings_ = {"redis-server", "--port",    std::to_string(port_),
                 "--bind",       "127.0.0.1", "--dir",
                 folder_,        "--save",    "",
                 "--appendonly", "yes",       "--appendfsync",
                 "always",       "--logfile", folder_ + "/log"};
    settings_.insert(settings_.end(), settings.begin(), settings.end());
    Start();
  }
  ~RedisServer() {
    Kill();
    // A child of the server may still write to it.
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  void Start() {
    std::vector<char*> arguments;
    for (std::string& setting : settings_) arguments.push_back(setting.data());
    arguments.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    for (int i = 0; i < 1000 && Ask({"PING"}) != "PONG"; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (Ask({"PING"}) != "PONG") ADD_FAILURE() << "redis-server did not start";
  }
  void Kill() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  void Freeze() const { kill(process_, SIGSTOP); }
  void Thaw() const { kill(process_, SIGCONT); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

  // The reply as text: an array as its parts, with spaces between. Empty: no
  // connection.
  std::string Ask(const std::vector<std::string>& command) const {
    const std::unique_ptr<redisContext, void (*)(redisContext*)> context(
        redisConnect("127.0.0.1", port_), redisFree);
    if (context == nullptr || context->err != 0) return "";
    std::vector<const char*> arguments;
    std::vector<size_t> sizes;
    for (const std::string& argument : command) {
      arguments.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    auto* reply = static_cast<redisReply*>(
        redisCommandArgv(context.get(), static_cast<int>(arguments.size()),
                         arguments.data(), sizes.data()));
    if (reply == nullptr) return "";
    const std::string text = TextOf(*reply);
    freeReplyObject(reply);
    return text;
  }

  static int FreePort() {
    const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    bind(socket_fd, plain, size);
    getsockname(socket_fd, plain, &size);
    close(socket_fd);
    return ntohs(address.sin_port);
  }

 private:
  static std::string TextOf(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    if (reply.type == REDIS_REPLY_NIL) return "nil";
    if (reply.type != REDIS_REPLY_ARRAY) return {reply.str, reply.len};
    std::string text;
    for (size_t i = 0; i < reply.elements; ++i) {
      text += (i == 0 ? "" : " ") + TextOf(*reply.element[i]);
    }
    return text;
  }
  std::string folder_;
  int port_ = 0;
  pid_t process_ = 0;
  std::vector<std::string> settings_;
};

}  // namespace walpost::testing
