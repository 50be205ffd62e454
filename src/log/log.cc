#include "log/log.h"

#include "log/log_line.h"
#include "log/spdlog_level.h"
#include "spdlog/spdlog.h"

namespace walpost {

bool IsLogged(LogLevel level) { return spdlog::should_log(ToSpdlog(level)); }

void WriteLogLine(LogLevel level, std::string_view text,
                  std::string_view text_template, LogFields fields) {
  const bool says_nothing = text_template == "{}";
  spdlog::log(
      ToSpdlog(level),
      spdlog::string_view_t(Encode(
          text, says_nothing ? std::string_view() : text_template, fields)));
}

void LogFinding(const Finding& finding) {
  if (finding.severity == Severity::kOk) return;
  const bool is_note = finding.severity == Severity::kNote;
  Log(is_note ? LogLevel::kInfo : LogLevel::kWarn,
      {{"finding", finding.id.text()}}, "{} {}{}{}", finding.subject,
      finding.text, finding.remedy.empty() ? "" : ": ", finding.remedy);
}

}  // namespace walpost
