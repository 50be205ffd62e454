// A finding as one line, for tests that compare all of it.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "fmt/format.h"

namespace walpost::testing {

// "error slot_lost slot orders: is lost -> remedy"
inline std::string TextOf(const Finding& finding) {
  constexpr const char* kNames[] = {"ok", "note", "warning", "error"};
  std::string text =
      fmt::format("{} {} {}: {}", kNames[static_cast<size_t>(finding.severity)],
                  finding.id.text(), finding.subject, finding.text);
  if (!finding.remedy.empty()) text += " -> " + finding.remedy;
  return text;
}

inline std::vector<std::string> TextsOf(const Findings& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(TextOf(finding));
  return texts;
}

}  // namespace walpost::testing
