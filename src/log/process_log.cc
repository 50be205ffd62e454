#include "log/process_log.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/own_arguments.h"
#include "fmt/format.h"
#include "log/log_format.h"
#include "log/spdlog_level.h"
#include "spdlog/async.h"
#include "spdlog/sinks/ringbuffer_sink.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace walpost {
namespace {

// The writing thread reads them for each line: setting a sink's formatter would
// wait for the line that it is writing.
std::atomic<LogFormat> format_now = LogFormat::kText;
std::atomic<bool> has_keys = false;
std::string slot_name;

class LineFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& queued,
              spdlog::memory_buf_t& written) override {
    const LogStamp stamp = {queued.time, FromSpdlog(queued.level)};
    LogLine line = Decode({queued.payload.data(), queued.payload.size()});
    const std::string text = WithOwnArguments(line.text);
    line.text = text;
    if (!has_keys) {
      std::erase_if(line.fields,
                    [](const LogField& field) { return field.name == "key"; });
    }
    const std::string formatted = format_now == LogFormat::kJson
                                      ? FormatAsJson(stamp, line, slot_name)
                                      : FormatAsText(stamp, text);
    written.append(formatted.data(), formatted.data() + formatted.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>();
  }
};

// Writes to stderr, with a warning in front about dropped lines.
//
// It runs on the pool's thread; the pool outlives it. It must not ask spdlog
// for the pool: that waits for a mutex which shutdown holds while it waits for
// this thread, and the last lines would be lost.
class StderrSink final : public spdlog::sinks::stderr_color_sink_mt {
  using Base = spdlog::sinks::stderr_color_sink_mt;

 public:
  explicit StderrSink(spdlog::details::thread_pool& pool) : pool_(pool) {}

  void log(const spdlog::details::log_msg& message) override {
    const uint64_t dropped = pool_.overrun_counter();
    if (dropped > reported_) {
      const std::string text = fmt::format(
          "{} log lines were dropped before this one: stderr was "
          "not read fast enough",
          dropped - std::exchange(reported_, dropped));
      Base::log({message.time, {}, {}, spdlog::level::warn, text});
    }
    Base::log(message);
  }

 private:
  spdlog::details::thread_pool& pool_;
  uint64_t reported_ = 0;
};

// Keeps the latest warnings in memory.
using RecentSink = spdlog::sinks::ringbuffer_sink_mt;

}  // namespace

ProcessLog::ProcessLog() {
  spdlog::init_thread_pool(kMaxQueuedLines, /*thread_count=*/1);
  const auto recent = std::make_shared<RecentSink>(kMaxRecentWarnings);
  recent->set_level(spdlog::level::warn);
  // A stderr that nobody reads holds up the second sink, but not the first.
  const spdlog::sinks_init_list sinks = {
      recent, std::make_shared<StderrSink>(*spdlog::thread_pool())};
  spdlog::set_default_logger(std::make_shared<spdlog::async_logger>(
      "walpost", sinks, spdlog::thread_pool(),
      spdlog::async_overflow_policy::overrun_oldest));
  spdlog::set_formatter(std::make_unique<LineFormatter>());
  Configure({});
}

void ProcessLog::Configure(const LogOptions& options) {
  spdlog::set_level(ToSpdlog(options.level));
  format_now = options.format;
  has_keys = options.keys;
}

void ProcessLog::SetSlot(std::string slot) { slot_name = std::move(slot); }

uint64_t ProcessLog::dropped_lines() {
  const auto pool = spdlog::thread_pool();
  return pool == nullptr ? 0 : pool->overrun_counter();
}

void ProcessLog::Flush(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kPoll{2};
  const auto pool = spdlog::thread_pool();
  for (auto waited = kPoll; pool && waited < limit; waited += kPoll) {
    const bool is_empty = pool->queue_size() == 0;
    std::this_thread::sleep_for(kPoll);  // also for the line being written
    if (is_empty) return;
  }
}

std::vector<RecentWarning> ProcessLog::recent_warnings() {
  std::vector<RecentWarning> warnings;
  const auto logger = spdlog::default_logger();
  if (logger == nullptr) return warnings;
  const auto recent =
      std::dynamic_pointer_cast<RecentSink>(logger->sinks().front());
  if (recent == nullptr) return warnings;
  for (const auto& queued : recent->last_raw()) {
    const LogLine line = Decode({queued.payload.data(), queued.payload.size()});
    warnings.push_back(
        {std::chrono::time_point_cast<std::chrono::microseconds>(queued.time),
         FromSpdlog(queued.level), WithOwnArguments(line.text)});
  }
  return warnings;
}

bool ProcessLog::Close(std::chrono::milliseconds limit) {
  auto ended = std::make_shared<std::promise<void>>();
  const std::future<void> end = ended->get_future();
  std::thread([ended = std::move(ended)] {
    spdlog::shutdown();
    ended->set_value();
  }).detach();
  return end.wait_for(limit) == std::future_status::ready;
}

}  // namespace walpost
