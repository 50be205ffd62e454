#include "config/yaml_document.h"

#include <cstddef>
#include <sstream>
#include <string_view>

#include "yaml-cpp/eventhandler.h"

namespace walpost {
namespace {

bool IsDocumentMarker(const std::string& text, const YAML::Mark& mark) {
  if (mark.pos < 0) return false;
  const size_t position = static_cast<size_t>(mark.pos);
  return position <= text.size() &&
         std::string_view(text).substr(position).starts_with("---");
}

// Throws when a second document starts; ignores other events.
class SecondDocumentRefused final : public YAML::EventHandler {
 public:
  explicit SecondDocumentRefused(const std::string& text) : text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    throw YAML::ParserException(
        mark, IsDocumentMarker(text_, mark)
                  ? "a second YAML document starts here: remove the line '---'"
                  : "this belongs to nothing before it");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  const std::string& text_;
  int documents_ = 0;
};

// A literal "${" in a value must not be read back as a reference.
std::string Escape(std::string text) {
  for (size_t at = text.find("${"); at != std::string::npos;
       at = text.find("${", at + 3)) {
    text.insert(at, 1, '$');
  }
  return text;
}

}  // namespace

YAML::Node LoadYamlDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  SecondDocumentRefused handler(text);
  while (parser.HandleNextDocument(handler)) {
  }
  return YAML::Load(text);
}

YAML::Node Quoted(const std::string& text) {
  YAML::Node node(Escape(text));
  if (text.empty()) node.SetTag("!");
  return node;
}

YAML::Node Quoted(const std::vector<std::string>& texts) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const std::string& text : texts) list.push_back(Quoted(text));
  return list;
}

}  // namespace walpost
