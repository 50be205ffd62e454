#include "nats/subject.h"

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Takes the first token off `subject`.
std::string_view TakeToken(std::string_view& subject) {
  const std::string_view token = subject.substr(0, subject.find('.'));
  subject.remove_prefix(std::min(subject.size(), token.size() + 1));
  return token;
}

const char* FlawOf(std::string_view subject, bool may_have_wildcards) {
  if (subject.empty()) return "it is empty";
  if (subject.size() > kMaxSubjectBytes) return "it is too long";
  if (subject.front() == '$')
    return "subjects that begin with $ are NATS's own";
  if (subject.front() == '.' || subject.back() == '.' ||
      subject.find("..") != std::string_view::npos) {
    return "a token between two dots is empty";
  }
  for (const char c : subject) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7F) {
      return "it has a space or a control character";
    }
  }
  while (!subject.empty()) {
    const std::string_view token = TakeToken(subject);
    if (token.find_first_of("*>") == std::string_view::npos) continue;
    if (!may_have_wildcards) return "* and > are wildcards";
    if (token.size() > 1) return "a wildcard is a token of its own";
    if (token == ">" && !subject.empty()) return "> is the last token";
  }
  return nullptr;
}

absl::Status StatusOf(std::string_view subject, const char* flaw) {
  if (flaw == nullptr) return absl::OkStatus();
  return Undeliverable(kReasonTopicIllegal,
                       fmt::format("'{}' is not a legal subject of NATS: {}",
                                   subject.substr(0, kMaxSubjectBytes), flaw));
}

}  // namespace

absl::Status CheckSubject(std::string_view subject) {
  return StatusOf(subject, FlawOf(subject, /*may_have_wildcards=*/false));
}

absl::Status CheckSubjectFilter(std::string_view filter) {
  return StatusOf(filter, FlawOf(filter, /*may_have_wildcards=*/true));
}

bool SubjectMatches(std::string_view filter, std::string_view subject) {
  return FiltersOverlap(filter, subject);
}

bool FiltersOverlap(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view of_a = TakeToken(a);
    const std::string_view of_b = TakeToken(b);
    if (of_a == ">" || of_b == ">") return true;
    if (of_a != of_b && of_a != "*" && of_b != "*") return false;
  }
  return a.empty() && b.empty();
}

}  // namespace walpost
