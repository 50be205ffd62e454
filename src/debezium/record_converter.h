// RecordConverter: what makes bytes of a key, a value or a header, as the
// configuration chooses it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "debezium/connect_value.h"
#include "debezium/json_converter.h"
#include "debezium/options.h"
#include "debezium/row_encoder.h"

namespace walpost::debezium {

class RecordConverter {
 public:
  RecordConverter(Converter converter, const Options& options);
  RecordConverter(HeaderConverter converter, const Options& options);

  // nullopt: null of Kafka. The bytes are those of the value or of `buffer`,
  // which is overwritten.
  //
  // kInvalidArgument: the converter does not accept the value; names the cause
  // and a converter that does.
  absl::Status Convert(const TypedValue& value, std::string& buffer,
                       Text& bytes) const;

  // The schema as JSON, where the converter writes it; empty: it does not.
  std::string SchemaJson(const Schema& schema) const;

 private:
  enum class Form { kJavaText, kSimple, kJson };

  absl::Status ConvertText(const TypedValue& value, std::string& buffer,
                           Text& bytes) const;
  absl::Status ConvertJson(const TypedValue& value, std::string& buffer,
                           Text& bytes) const;
  absl::Status Delegate(const TypedValue& value, std::string& buffer,
                        Text& bytes) const;

  bool takes_bytes_ = false;  // bytes pass as they are
  std::optional<Form> form_;  // of anything else; nullopt: rejected
  JsonConverter::Schemas schemas_ = JsonConverter::Schemas::kLeftOut;
  JsonConverter json_;
};

}  // namespace walpost::debezium
