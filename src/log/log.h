// The log lines of this process.
//
//   LogInfo("created topic {}", topic);
//   LogWarn({{"topic", topic}}, "topic {} is isolated: ...", topic);
//
// A line is formatted at once, and written by ProcessLog's thread. Text shows
// what has been formatted; JSON has, besides,
//
//   template  the text with its {}: the same for all lines that say the same
//   slot      of this process
//   and the fields of the line, of which these are in use:
//   reason_code  why, in one word (base/reason_code.h)
//   position     of the event, as verbs take it: LSN/ordinal
//   causes       of the state (health/diagnosis.h)
//   event_id, key (with log.keys), table (schema.table), topic
//   finding      id of what an examination found (base/finding.h)
//
// A field whose value is empty is left out. A line about the state has its
// state as the template.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/finding.h"
#include "fmt/format.h"
#include "log/log_options.h"

namespace walpost {

struct LogField {
  std::string_view name;
  std::string_view value;
};
using LogFields = std::initializer_list<LogField>;

// Lines of this level are written.
bool IsLogged(LogLevel level);

// Thread-safe; never blocks.
void WriteLogLine(LogLevel level, std::string_view text,
                  std::string_view text_template, LogFields fields);

template <typename... Args>
void Log(LogLevel level, LogFields fields, fmt::format_string<Args...> text,
         Args&&... args) {
  if (!IsLogged(level)) return;
  const fmt::string_view pattern = text;
  WriteLogLine(level, fmt::format(text, std::forward<Args>(args)...),
               {pattern.data(), pattern.size()}, fields);
}

template <typename... Args>
void LogDebug(fmt::format_string<Args...> text, Args&&... args) {
  Log(LogLevel::kDebug, {}, text, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> text, Args&&... args) {
  Log(LogLevel::kInfo, {}, text, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(LogFields fields, fmt::format_string<Args...> text,
             Args&&... args) {
  Log(LogLevel::kInfo, fields, text, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarn(fmt::format_string<Args...> text, Args&&... args) {
  Log(LogLevel::kWarn, {}, text, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarn(LogFields fields, fmt::format_string<Args...> text,
             Args&&... args) {
  Log(LogLevel::kWarn, fields, text, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> text, Args&&... args) {
  Log(LogLevel::kError, {}, text, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(LogFields fields, fmt::format_string<Args...> text,
              Args&&... args) {
  Log(LogLevel::kError, fields, text, std::forward<Args>(args)...);
}

// Writes subject, text and remedy: a warning, or for information if it is well.
void LogFinding(const Finding& finding);

}  // namespace walpost
