// NatsServer: a nats-server with JetStream in a folder of its own, on a free
// port of 127.0.0.1. A test that cannot have one fails.
#pragma once

#include <gtest/gtest.h>
#include <nats/nats.h>
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
#include <system_error>
#include <thread>
#include <vector>

namespace walpost::testing {

class NatsServer {
 public:
  enum class JetStream { kOff, kOn };

  explicit NatsServer(JetStream jetstream = JetStream::kOn) {
    char folder[] = "/tmp/walpost-nats-XXXXXX";
    folder_ = mkdtemp(folder);
    std::ofstream(folder_ + "/nats.conf")
        << "listen: 127.0.0.1:-1\nports_file_dir: \"" << folder_ << "\"\n"
        << (jetstream == JetStream::kOn
                ? "jetstream {store_dir: \"" + folder_ + "\"}\n"
                : "");
    Start();
    ReadUrl();
  }
  ~NatsServer() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    // A child of the server may still write to it.
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  const std::string& url() const { return url_; }

  // The answer to a request, with a connection of its own.
  std::string Ask(const std::string& subject, const std::string& body) const {
    natsConnection* connection = nullptr;
    EXPECT_EQ(natsConnection_ConnectTo(&connection, url_.c_str()), NATS_OK);
    natsMsg* message = nullptr;
    EXPECT_EQ(natsConnection_RequestString(&message, connection,
                                           subject.c_str(), body.c_str(), 5000),
              NATS_OK);
    std::string answer(natsMsg_GetData(message),
                       static_cast<size_t>(natsMsg_GetDataLength(message)));
    natsMsg_Destroy(message);
    natsConnection_Destroy(connection);
    return answer;
  }
  // `more`: settings as JSON, with a comma in front.
  void MakeStream(const std::string& name, const std::string& subject,
                  const std::string& more = "") const {
    const std::string answer =
        Ask("$JS.API.STREAM.CREATE." + name,
            R"({"name":")" + name + R"(","subjects":[")" + subject +
                R"("],"storage":"file","num_replicas":1)" + more + "}");
    EXPECT_EQ(answer.find("\"error\""), std::string::npos) << answer;
  }
  // It answers nothing any more when this returns.
  void Freeze() {
    kill(pid_, SIGSTOP);
    int status = 0;
    waitpid(pid_, &status, WUNTRACED);
  }
  void Kill() { kill(pid_, SIGKILL); }
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
