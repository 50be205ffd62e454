#include "nats/json_document.h"

namespace walpost {
namespace {

std::string TextOf(const rapidjson::Value& value) {
  if (!value.IsString()) return "";
  return std::string(value.GetString(), value.GetStringLength());
}

}  // namespace

JsonValue JsonValue::Child(const char* name) const {
  if (value_ == nullptr || !value_->IsObject()) return JsonValue(nullptr);
  const auto member = value_->FindMember(name);
  if (member == value_->MemberEnd()) return JsonValue(nullptr);
  return JsonValue(&member->value);
}

std::string JsonValue::Text(const char* name) const {
  const JsonValue child = Child(name);
  return child.exists() ? TextOf(*child.value_) : "";
}

uint64_t JsonValue::Number(const char* name) const {
  const JsonValue child = Child(name);
  if (!child.exists() || !child.value_->IsUint64()) return 0;
  return child.value_->GetUint64();
}

int64_t JsonValue::Signed(const char* name) const {
  const JsonValue child = Child(name);
  if (!child.exists() || !child.value_->IsInt64()) return 0;
  return child.value_->GetInt64();
}

bool JsonValue::Flag(const char* name) const {
  const JsonValue child = Child(name);
  return child.exists() && child.value_->IsTrue();
}

std::vector<JsonValue> JsonValue::List(const char* name) const {
  std::vector<JsonValue> values;
  const JsonValue child = Child(name);
  if (!child.exists() || !child.value_->IsArray()) return values;
  for (const auto& value : child.value_->GetArray())
    values.emplace_back(&value);
  return values;
}

std::vector<std::string> JsonValue::Texts(const char* name) const {
  std::vector<std::string> texts;
  for (const JsonValue& value : List(name)) {
    texts.push_back(TextOf(*value.value_));
  }
  return texts;
}

JsonDocument::JsonDocument(std::string_view json) {
  // Iterative: a deeply nested answer cannot exhaust the stack.
  document_.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document_.HasParseError()) document_.SetNull();
}

JetStreamError JsonDocument::error() const {
  const JsonValue error = root().Child("error");
  if (!error.exists()) return {};
  return {.code = static_cast<int>(error.Number("code")),
          .err_code = static_cast<int>(error.Number("err_code")),
          .description = error.Text("description")};
}

}  // namespace walpost
