// NatsServer: a nats-server with JetStream in a folder of its own, on a free
// port of 127.0.0.1. A test that cannot have one fails.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace walpost::testing {

class NatsServer {
 public:
  explicit NatsServer(const std::string& config = "") {
    char folder[] = "/tmp/walpost-nats-XXXXXX";
    folder_ = mkdtemp(folder);
    std::ofstream(folder_ + "/nats.conf")
        << "listen: 127.0.0.1:-1\nports_file_dir: \"" << folder_
        << "\"\njetstream {store_dir: \"" << folder_ << "\"}\n"
        << config;
    Start();
    ReadUrl();
  }
  ~NatsServer() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  const std::string& url() const { return url_; }
  void Freeze() { kill(pid_, SIGSTOP); }
  void Thaw() { kill(pid_, SIGCONT); }

 private:
  void Start() {
    const std::string config = folder_ + "/nats.conf";
    const std::string log = folder_ + "/nats.log";
    std::vector<std::string> words = {"nats-server", "-c", config, "-l", log};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int failed = posix_spawnp(&pid_, "/usr/sbin/nats-server", nullptr,
                                    nullptr, arguments.data(), environ);
    ASSERT_EQ(failed, 0) << "is nats-server installed?";
  }

  void ReadUrl() {
    const std::string path =
        folder_ + "/nats-server_" + std::to_string(pid_) + ".ports";
    for (int i = 0; i < 1'000 && url_.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::ostringstream content;
      content << std::ifstream(path).rdbuf();
      const std::string text = content.str();
      const size_t begin = text.find("nats://");
      if (begin == std::string::npos) continue;
      url_ = text.substr(begin, text.find('"', begin) - begin);
    }
    ASSERT_FALSE(url_.empty()) << "nats-server has not started";
  }

  std::string folder_;
  pid_t pid_ = 0;
  std::string url_;
};

}  // namespace walpost::testing
