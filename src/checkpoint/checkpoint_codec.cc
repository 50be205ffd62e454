#include "checkpoint/checkpoint_codec.h"

#include <zlib.h>

#include "fmt/format.h"
#include "outbox/proto_time.h"
#include "walpost/v1/checkpoint.pb.h"

namespace walpost {
namespace {

constexpr std::string_view kMagic = "WPCK";
constexpr uint8_t kVersion = 1;
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(kVersion);
constexpr size_t kChecksumBytes = sizeof(uint32_t);

std::string Checksum(std::string_view bytes) {
  const uLong crc =
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += static_cast<char>(crc >> shift & 0xFF);
  }
  return text;
}

WallTime ToTime(const google::protobuf::Timestamp& timestamp) {
  using std::chrono::microseconds;
  const std::chrono::nanoseconds rest(timestamp.nanos());
  return WallTime(std::chrono::seconds(timestamp.seconds()) +
                  std::chrono::duration_cast<microseconds>(rest));
}

}  // namespace

std::string EncodeCheckpoint(const Checkpoint& checkpoint) {
  v1::Checkpoint message;
  message.set_system_identifier(checkpoint.system_identifier);
  message.set_timeline(checkpoint.timeline);
  message.set_slot(checkpoint.slot);
  message.set_birth(checkpoint.birth.value());
  message.set_confirmed(checkpoint.confirmed.value());
  message.set_commit_lsn(checkpoint.position.commit_lsn.value());
  message.set_ordinal(checkpoint.position.ordinal);
  message.set_numbering(checkpoint.numbering);
  SetTime(checkpoint.written_at, *message.mutable_written_at());
  if (checkpoint.horizon.is_known()) {
    message.set_transaction_horizon(checkpoint.horizon.transaction_id);
    SetTime(checkpoint.horizon.server_started_at,
            *message.mutable_server_started_at());
  }
  if (checkpoint.commit_xid != Xid()) {
    message.set_commit_xid(checkpoint.commit_xid.value());
    SetTime(checkpoint.commit_time, *message.mutable_commit_time());
  }
  message.set_coverage(checkpoint.coverage);
  message.set_kafka_cluster(checkpoint.kafka_cluster);
  message.set_gap(checkpoint.gap);
  message.set_kafka_topics(checkpoint.kafka_topics);
  std::string bytes(kMagic);
  bytes += static_cast<char>(kVersion);
  message.AppendToString(&bytes);
  bytes += Checksum(bytes);
  return bytes;
}

absl::StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return absl::DataLossError(fmt::format(
        "{} bytes that do not begin as a checkpoint of walpost does",
        bytes.size()));
  }
  if (bytes.size() < kHeaderBytes + kChecksumBytes ||
      bytes.size() > kMaxCheckpointBytes) {
    return absl::DataLossError(fmt::format(
        "{} bytes, which no checkpoint has: it is torn", bytes.size()));
  }
  const auto version = static_cast<uint8_t>(bytes[kMagic.size()]);
  if (version != kVersion) {
    return absl::DataLossError(fmt::format(
        "a checkpoint of version {}; this walpost reads version {}: was it "
        "written by another release?",
        version, kVersion));
  }
  const std::string_view checked =
      bytes.substr(0, bytes.size() - kChecksumBytes);
  if (bytes.substr(checked.size()) != Checksum(checked)) {
    return absl::DataLossError("its checksum is wrong: torn or corrupted");
  }
  const std::string_view body = checked.substr(kHeaderBytes);
  v1::Checkpoint message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::DataLossError("its checksum is right, but it does not parse");
  }
  Checkpoint checkpoint;
  checkpoint.system_identifier = message.system_identifier();
  checkpoint.timeline = message.timeline();
  checkpoint.slot = message.slot();
  checkpoint.birth = Lsn(message.birth());
  checkpoint.confirmed = Lsn(message.confirmed());
  checkpoint.position.commit_lsn = Lsn(message.commit_lsn());
  checkpoint.position.ordinal = message.ordinal();
  checkpoint.numbering = message.numbering();
  checkpoint.written_at = ToTime(message.written_at());
  checkpoint.horizon.transaction_id = message.transaction_horizon();
  checkpoint.horizon.server_started_at = ToTime(message.server_started_at());
  checkpoint.commit_xid = Xid(message.commit_xid());
  checkpoint.commit_time = ToTime(message.commit_time());
  checkpoint.coverage = message.coverage();
  checkpoint.kafka_cluster = message.kafka_cluster();
  checkpoint.gap = message.gap();
  checkpoint.kafka_topics = message.kafka_topics();
  return checkpoint;
}

}  // namespace walpost
