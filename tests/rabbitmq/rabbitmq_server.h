// RabbitmqServer: a RabbitMQ of this test program's own, on free ports of
// 127.0.0.1, with a folder and an epmd of its own. It ends with the program.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace walpost::testing {

class RabbitmqServer {
 public:
  RabbitmqServer()
      : folder_(std::filesystem::temp_directory_path() /
                ("walpost-rabbitmq-" + std::to_string(getpid()))),
        port_(FreePort()),
        dist_port_(FreePort()),
        epmd_port_(FreePort()) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "rabbitmq.conf")
        << "loopback_users = none\n"
           "vm_memory_high_watermark.absolute = 512MB\n"
           "disk_free_limit.absolute = 1MB\n"
           "log.console = true\n"
           "log.file = false\n";
    std::ofstream(folder_ / "plugins") << "[].\n";
    std::ofstream(folder_ / "env.conf") << "\n";
    epmd_ = Spawn(
        {"epmd", "-port", std::to_string(epmd_port_), "-address", "127.0.0.1"});
    server_ = Spawn({"/usr/lib/rabbitmq/bin/rabbitmq-server"});
  }
  ~RabbitmqServer() {
    End(server_);
    End(epmd_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  RabbitmqServer(const RabbitmqServer&) = delete;
  RabbitmqServer& operator=(const RabbitmqServer&) = delete;

  // False: it does not start; its log is in the message of the failure.
  bool Await() {
    const auto limit = Clock::now() + std::chrono::seconds(240);
    while (Clock::now() < limit) {
      if (IsListening(port_)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::ifstream log(folder_ / "out");
    ADD_FAILURE() << std::string(std::istreambuf_iterator<char>(log), {});
    return false;
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void Freeze() { kill(server_, SIGSTOP); }
  void Thaw() { kill(server_, SIGCONT); }
  // Runs rabbitmqctl; its exit code.
  int Control(std::vector<std::string> words) {
    words.insert(words.begin(), "/usr/lib/rabbitmq/bin/rabbitmqctl");
    int status = 0;
    waitpid(Spawn(words), &status, 0);
    return WEXITSTATUS(status);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  // Below those that the kernel gives away.
  static int FreePort() {
    std::random_device random;
    for (;;) {
      const int port = 10'000 + static_cast<int>(random() % 20'000);
      const sockaddr_in address = Loopback(port);
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      const bool is_free = bind(fd, reinterpret_cast<const sockaddr*>(&address),
                                sizeof(address)) == 0;
      close(fd);
      if (is_free) return port;
    }
  }
  static bool IsListening(int port) {
    const sockaddr_in address = Loopback(port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool is_open =
        connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0;
    close(fd);
    return is_open;
  }

  std::vector<std::string> Environment() const {
    const std::string folder = folder_.string();
    const std::string node = "walpost" + std::to_string(port_) + "@localhost";
    return {
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME=" + folder,
        "LANG=C.UTF-8",
        "ERL_EPMD_PORT=" + std::to_string(epmd_port_),
        "ERL_EPMD_ADDRESS=127.0.0.1",
        "RABBITMQ_NODENAME=" + node,
        "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
        "RABBITMQ_NODE_PORT=" + std::to_string(port_),
        "RABBITMQ_DIST_PORT=" + std::to_string(dist_port_),
        "RABBITMQ_MNESIA_BASE=" + folder + "/mnesia",
        "RABBITMQ_LOG_BASE=" + folder + "/log",
        "RABBITMQ_CONFIG_FILE=" + folder + "/rabbitmq.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE=" + folder + "/plugins",
        "RABBITMQ_CONF_ENV_FILE=" + folder + "/env.conf",
        "RABBITMQ_PID_FILE=" + folder + "/pid",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-setcookie walpost +S 2:2 -kernel "
        "inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_CTL_ERL_ARGS=-setcookie walpost",
        // Then the script becomes the server, and leaves no child behind.
        "RUNNING_UNDER_SYSTEMD=1",
    };
  }

  pid_t Spawn(std::vector<std::string> words) const {
    std::vector<std::string> environment = Environment();
    const std::string log = (folder_ / "out").string();
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& line : environment) envp.push_back(line.data());
    envp.push_back(nullptr);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }

  static void End(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  std::filesystem::path folder_;
  int port_;
  int dist_port_;
  int epmd_port_;
  pid_t epmd_ = 0;
  pid_t server_ = 0;
};

// Erlang starts slowly: one server for all tests of a program.
inline RabbitmqServer& SharedRabbitmq() {
  static RabbitmqServer server;
  static const bool is_up = server.Await();
  EXPECT_TRUE(is_up);
  return server;
}

}  // namespace walpost::testing
