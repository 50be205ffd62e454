// VerbFixture: runs verbs of the command line as a shell would, against a
// server that knows its answers, the mock brokers and, if asked for, an
// instance that answers at http.listen.
//
//   Outcome ended = Run("pause --reason upgrade");
//   EXPECT_EQ(ended.exit_code, kExitOk);
//   EXPECT_EQ(ended.out, "...");
//
// A verb blocks, so the server answers on a thread of its own, as long as the
// verb runs: answers are given before, and statements read afterwards.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "admin/http_server.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"
#include "health/relay_status.h"
#include "loop/blocking_call.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"
#include "support/fake_postgres.h"
#include "support/mock_kafka.h"

namespace walpost::testing {

// What a verb has left. The configuration file is FILE in both texts.
struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class VerbFixture : public ::testing::Test {
 protected:
  VerbFixture() {
    auto log = std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(log));
    setenv("USER", "alice", 1);
    Set("postgres.conninfo", server_.options().conninfo.Read().value());
    Set("postgres.slot", "orders");
    Set("postgres.publication", "outbox");
    Set("kafka.brokers", kafka_.brokers());
    Set("http.listen", "''");
  }
  ~VerbFixture() override {
    AwaitBlockedThreads(std::chrono::seconds(20));
    std::filesystem::remove(file_);
  }

  // A key of the configuration file; "": it is not there.
  void Set(const std::string& key, const std::string& value) {
    std::erase_if(keys_, [&](const auto& pair) { return pair.first == key; });
    if (!value.empty()) keys_.emplace_back(key, value);
  }
  void SetTables(std::string yaml) { tables_ = std::move(yaml); }

  // From now on an instance with this status answers.
  void Answer(RelayStatus status) {
    instance_ = std::move(status);
    if (http_ != nullptr) return;
    auto made = HttpServer::Create(
        context_.get_executor(), HttpAnywhere(),
        {.version = "1.2.3", .status = [this] { return instance_; }});
    ASSERT_TRUE(made.ok()) << made.status();
    http_ = *std::move(made);
    Set("http.listen", fmt::format("127.0.0.1:{}", http_->port()));
  }

  // System 77, timeline 3, WAL up to 0/500, a publication as old as the slot.
  void AnswerGapDiagnosis() {
    server_.Answer("SELECT system_identifier, CASE WHEN",
                   {{"77", "3", "0/500"}});
    server_.Answer("age(p.xmin) <= age(s.catalog_xmin)", {{"f", "f"}});
  }

  // Words are separated by blanks. -c FILE is added behind the verb.
  Outcome Run(const std::string& line) {
    std::vector<std::string> words = absl::StrSplit(line, ' ');
    words.insert(words.begin() + 1, {"-c", file_});
    return RunWords(std::move(words));
  }

  Outcome RunWords(std::vector<std::string> words) {
    WriteConfig();
    words.insert(words.begin(), "walpost");
    std::vector<const char*> line;
    for (const std::string& word : words) line.push_back(word.c_str());
    line.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    context_.restart();
    auto work = boost::asio::make_work_guard(context_);
    std::thread serving([this] { context_.run(); });
    Outcome outcome;
    outcome.exit_code =
        RunCommandLine(static_cast<int>(words.size()), line.data());
    work.reset();
    context_.stop();
    serving.join();
    spdlog::default_logger()->flush();
    outcome.out = Shown(::testing::internal::GetCapturedStdout());
    outcome.err = Shown(::testing::internal::GetCapturedStderr());
    return outcome;
  }

  const std::string& file() const { return file_; }

  boost::asio::io_context context_;
  MockKafka kafka_;
  FakePostgres server_{context_};

 private:
  static HttpOptions HttpAnywhere() {
    HttpOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }

  std::string Shown(const std::string& text) const {
    return absl::StrReplaceAll(text, {{file_, "FILE"}});
  }

  // Keys of one section are written together.
  void WriteConfig() const {
    std::ofstream file(file_);
    std::vector<std::string> written;
    for (const auto& [key, value] : keys_) {
      const std::string section = key.substr(0, key.find('.'));
      if (section == key) file << key << ": " << value << "\n";
      if (section == key || std::ranges::count(written, section) > 0) continue;
      written.push_back(section);
      file << section << ":\n";
      for (const auto& [other, of_other] : keys_) {
        if (!other.starts_with(section + ".")) continue;
        file << "  " << other.substr(section.size() + 1) << ": " << of_other
             << "\n";
      }
      if (section == "outbox" && !tables_.empty()) {
        file << "  tables:\n" << tables_;
      }
    }
    if (!tables_.empty() && std::ranges::count(written, "outbox") == 0) {
      file << "outbox:\n  tables:\n" << tables_;
    }
  }

  std::string file_ = (std::filesystem::temp_directory_path() /
                       fmt::format("walpost_verb_{}.yaml", getpid()))
                          .string();
  std::vector<std::pair<std::string, std::string>> keys_;
  std::string tables_ = "    - name: public.outbox\n";
  RelayStatus instance_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace walpost::testing
