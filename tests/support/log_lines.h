// LogLines: what is logged while it exists.
//
//   const LogLines log;
//   ... run the code under test ...
//   EXPECT_THAT(log.Warnings(), ElementsAre(HasSubstr("isolated")));
//
// One at a time, since there is one log.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/log_line.h"
#include "log/log_options.h"
#include "log/spdlog_level.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"

namespace walpost::testing {

class LogLines {
 public:
  LogLines() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("test", kept_);
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogLines() { spdlog::set_default_logger(before_); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  // Texts of the lines of this level so far, in order.
  std::vector<std::string> Of(LogLevel level) const {
    return kept_->Of(ToSpdlog(level));
  }
  std::vector<std::string> Warnings() const { return Of(LogLevel::kWarn); }

 private:
  class Kept final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::vector<std::string> Of(spdlog::level::level_enum level) {
      const std::lock_guard lock(mutex_);
      std::vector<std::string> texts;
      for (const auto& [of, text] : lines_) {
        if (of == level) texts.push_back(text);
      }
      return texts;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& line) override {
      const std::string_view queued(line.payload.data(), line.payload.size());
      lines_.emplace_back(line.level, std::string(Decode(queued).text));
    }
    void flush_() override {}

    std::vector<std::pair<spdlog::level::level_enum, std::string>> lines_;
  };

  std::shared_ptr<spdlog::logger> before_;
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace walpost::testing
