#include "nats/publish_answer.h"

#include "nats/json_document.h"

namespace walpost {

PublishAnswer PublishAnswer::Parse(std::string_view json) {
  PublishAnswer answer;
  const JsonDocument document(json);
  answer.error = document.error();
  answer.stream = document.root().Text("stream");
  if (answer.error.is_error()) {
    answer.kind = Kind::kRejected;
    return answer;
  }
  answer.stream_sequence = document.root().Number("seq");
  answer.is_duplicate = document.root().Flag("duplicate");
  if (!answer.stream.empty() && answer.stream_sequence > 0) {
    answer.kind = Kind::kStored;
  }
  return answer;
}

}  // namespace walpost
