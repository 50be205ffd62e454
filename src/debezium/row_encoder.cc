#include "debezium/row_encoder.h"

#include <utility>

namespace walpost::debezium {

class RowEncoder::Impl {
 public:
  explicit Impl(const Fields& fields) : fields_(fields) {}

  absl::Status Encode(std::span<const Text> row, Encoded& encoded) {
    encoded = {};
    if (fields_.key) encoded.key = row[*fields_.key];
    if (fields_.payload) encoded.value = row[*fields_.payload];
    if (fields_.route) encoded.route = row[*fields_.route];
    if (fields_.id) {
      header_ = {"id", row[*fields_.id]};
      encoded.headers = {&header_, 1};
    }
    return absl::OkStatus();
  }

 private:
  Fields fields_;
  Encoded::Header header_;
};

RowEncoder::RowEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowEncoder::~RowEncoder() = default;

absl::StatusOr<std::unique_ptr<RowEncoder>> RowEncoder::Create(
    const Options&, const Table&, const Fields& fields) {
  return std::unique_ptr<RowEncoder>(
      new RowEncoder(std::make_unique<Impl>(fields)));
}

absl::Status RowEncoder::Encode(std::span<const Text> row, Encoded& encoded) {
  return impl_->Encode(row, encoded);
}

absl::Status RowEncoder::Encode(std::span<const Text> row,
                                std::span<const KeyColumn>, Encoded& encoded) {
  return impl_->Encode(row, encoded);
}

}  // namespace walpost::debezium
