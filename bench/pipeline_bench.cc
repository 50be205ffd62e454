// What an event costs between the socket and the producer: time, and heap
// allocations.
//
//   decode   bytes of one row -> Insert message
//   map      + columns -> Event
//   build    + topic, key, headers -> Record
//   deliver  + acknowledgement window, sink, acknowledgement
//
// Rows come in transactions of 100, so each figure holds a hundredth of a Begin
// and a Commit. The sink only counts; acknowledgements come once per
// transaction. Each benchmark warms up until buffers have their size, then
// counts what is allocated: `new/event` calls of operator new, and
// `heap_bytes/event` by jemalloc's account, which misses nothing.
#include <benchmark/benchmark.h>
#include <jemalloc/jemalloc.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "delivery/wal_progress.h"
#include "outbox/record_builder.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/decoder.h"
#include "support/message_bytes.h"

namespace {

// Calls of operator new. Constant-initialised; used on one thread only.
uint64_t allocations = 0;

// Bytes that this thread has ever allocated, by whatever function.
uint64_t HeapBytes() {
  static const uint64_t* bytes = [] {
    const uint64_t* counter = nullptr;
    size_t size = sizeof(counter);
    if (mallctl("thread.allocatedp", &counter, &size, nullptr, 0) != 0) {
      std::abort();
    }
    return counter;
  }();
  return *bytes;
}

void* Allocate(size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace walpost {
namespace {

namespace wire = walpost::testing;

constexpr size_t kRowsPerTransaction = 100;
constexpr int kWarmUpTransactions = 1000;
constexpr uint32_t kTable = 16384;
constexpr uint32_t kJsonb = 3802;

// Shapes of rows, and what is made of them.
struct Shape {
  bool has_headers = false;
  ValueFormat format = ValueFormat::kRaw;
  // records.profile: debezium, with this converter of keys and values.
  std::optional<debezium::Converter> converter = std::nullopt;
  bool expands_json = false;
};
constexpr Shape kRaw{};
constexpr Shape kWithHeaders{.has_headers = true};
constexpr Shape kProtobuf{.format = ValueFormat::kProtobuf};
constexpr Shape kProtobufWithHeaders{.has_headers = true,
                                     .format = ValueFormat::kProtobuf};
constexpr Shape kDebeziumString{.converter = debezium::Converter::kString};
constexpr Shape kDebeziumJson{.converter = debezium::Converter::kJson};
constexpr Shape kDebeziumSchemas{.converter =
                                     debezium::Converter::kJsonSchemas};
constexpr Shape kDebeziumExpanded{.converter = debezium::Converter::kJson,
                                  .expands_json = true};

OutboxOptions OptionsOf(const Shape& shape) {
  OutboxOptions options;
  options.tables.emplace_back();
  options.value_format = shape.format;
  if (!shape.converter) return options;
  debezium::Options records;
  records.logical_name = "shop";
  records.key_converter = *shape.converter;
  records.value_converter = *shape.converter;
  records.expand_json = shape.expands_json;
  options.debezium = std::make_shared<const debezium::Options>(records);
  options.run_id = "0192f0c4-7c1e-7b52-9e3a-5d0e8d2c9a11";
  options.tables[0].debezium = options.debezium;
  options.route.topic = debezium::kUsualTopic;
  return options;
}

// 250 bytes of JSON, as the server renders jsonb.
std::string Payload(size_t number) {
  std::string payload =
      R"({"note": "leave it with the neighbours", "order": )" +
      std::to_string(100'000 + number) + R"(, "lines": [)";
  while (payload.size() < 190) {
    payload += R"({"sku": "c4ca4238a0b923820dcc", "quantity": 3}, )";
  }
  payload += R"({"sku": ")";
  payload.resize(245, 'f');
  return payload + R"("}]})";
}

// One transaction's messages, numbered LSNs filled in as it is repeated.
class Traffic {
 public:
  explicit Traffic(const Shape& shape) {
    std::vector<wire::ColumnSpec> columns = {{"id", 2950, true},
                                             {"aggregate_type"},
                                             {"aggregate_id"},
                                             {"payload", kJsonb}};
    if (shape.has_headers) columns.push_back({"headers", kJsonb});
    catalog_.SetColumns({ColumnsOf(columns)});
    relation_ = wire::RelationMessage(kTable, "public", "outbox", columns);
    for (size_t i = 0; i < kRowsPerTransaction; ++i) {
      rows_.push_back(wire::InsertMessage(kTable, Row(shape, i)));
    }
  }

  const std::string& relation() const { return relation_; }
  const BaseTypes& catalog() const { return catalog_; }
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  static std::vector<pgoutput::ColumnSchema> ColumnsOf(
      const std::vector<wire::ColumnSpec>& specs) {
    std::vector<pgoutput::ColumnSchema> columns;
    for (const wire::ColumnSpec& spec : specs) {
      columns.emplace_back().name = spec.name;
      columns.back().type_oid = spec.type_oid;
    }
    return columns;
  }
  static wire::Cells Row(const Shape& shape, size_t number) {
    constexpr std::string_view kTypes[] = {"order", "invoice", "payment",
                                           "shipment"};
    const std::string digits = std::to_string(1000 + number);
    wire::Cells cells = {
        wire::Text("2f1d0c7e-8f4b-4c39-9a52-07d1b1a2" + digits),
        wire::Text(kTypes[number % 4]), wire::Text("customer-" + digits),
        wire::Text(Payload(number))};
    if (shape.has_headers) {
      cells.push_back(wire::Text(
          R"({"tenant": "acme", "traceparent": )"
          R"("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})"));
    }
    return cells;
  }

  BaseTypes catalog_;
  std::string relation_;
  std::vector<std::string> rows_;
};

// Decoder and assembler, as a connection has them.
class Mapping {
 public:
  Mapping(const Traffic& traffic, const OutboxOptions& options,
          const std::vector<Route>& routes)
      : traffic_(traffic), assembler_(options, ReferencesOf(routes)) {
    assembler_.SetBaseTypes(traffic.catalog());
    Begin();
    Apply(pgoutput::Decode(traffic.relation()));
    Commit();
  }

  // Calls take(Event) for every event of one more transaction, then
  // end(Lsn).
  template <typename Take, typename End>
  void Transaction(Take&& take, End&& end) {
    Begin();
    for (const std::string& row : traffic_.rows()) {
      Apply(pgoutput::Decode(row));
      if (step_.kind != Step::Kind::kEvent) std::abort();
      take(step_.event);
    }
    Commit();
    end(step_.end_lsn);
  }

 private:
  static std::vector<std::vector<std::string>> ReferencesOf(
      const std::vector<Route>& routes) {
    std::vector<std::vector<std::string>> references;
    for (const Route& route : routes) {
      references.push_back(route.references());
    }
    return references;
  }

  void Begin() {
    lsn_ += 4096;
    const pgoutput::Begin begin{Lsn(lsn_), WallTime{}, Xid{}};
    Apply(pgoutput::Message(begin));
  }
  void Commit() {
    const pgoutput::Commit commit{Lsn(lsn_), Lsn(lsn_ + 48), WallTime{}};
    Apply(pgoutput::Message(commit));
  }
  void Apply(const absl::StatusOr<pgoutput::Message>& message) {
    if (!message.ok() || !assembler_.Apply(*message, step_).ok()) std::abort();
  }

  const Traffic& traffic_;
  TransactionAssembler assembler_;
  Step step_;
  uint64_t lsn_ = 0x1000000;
};

// Takes everything and keeps nothing.
class CountingSink final : public RecordSink {
 public:
  absl::Status Produce(const Record& record, Sequence sequence) override {
    benchmark::DoNotOptimize(record.headers.data());
    bytes_ += record.topic.size() + (record.value ? record.value->size() : 0);
    next_ = sequence + 1;
    return absl::OkStatus();
  }

  // The sequence behind the last one produced.
  Sequence next() const { return next_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Sequence next_ = 0;
  uint64_t bytes_ = 0;
};

// Runs `transaction` until it is warm, then measures it.
template <typename Transaction>
void Measure(benchmark::State& state, Transaction&& transaction) {
  for (int i = 0; i < kWarmUpTransactions; ++i) transaction();
  const uint64_t allocations_before = allocations;
  const uint64_t bytes_before = HeapBytes();
  for (auto _ : state) transaction();
  const auto bytes = static_cast<double>(HeapBytes() - bytes_before);
  const auto calls = static_cast<double>(allocations - allocations_before);
  const double events =
      static_cast<double>(state.iterations()) * kRowsPerTransaction;
  state.counters["new/event"] = calls / events;
  state.counters["heap_bytes/event"] = bytes / events;
  state.counters["time/event"] = benchmark::Counter(
      events, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Decode(benchmark::State& state, const Shape& shape) {
  const Traffic traffic(shape);
  Measure(state, [&] {
    for (const std::string& row : traffic.rows()) {
      auto message = pgoutput::Decode(row);
      benchmark::DoNotOptimize(message);
    }
  });
}

void BM_DecodeMap(benchmark::State& state, const Shape& shape) {
  const Traffic traffic(shape);
  const OutboxOptions options = OptionsOf(shape);
  const auto routes = Route::CreateAll(options).value();
  Mapping mapping(traffic, options, routes);
  Measure(state, [&] {
    mapping.Transaction(
        [](const Event& event) {
          auto id = event.id;
          benchmark::DoNotOptimize(id);
        },
        [](Lsn) {});
  });
}

void BM_DecodeMapBuild(benchmark::State& state, const Shape& shape) {
  const Traffic traffic(shape);
  const OutboxOptions options = OptionsOf(shape);
  const auto builder = RecordBuilder::Create(options).value();
  Mapping mapping(traffic, options, builder->routes());
  Measure(state, [&] {
    mapping.Transaction(
        [&](const Event& event) {
          auto record = builder->Build(event, 1);
          if (!record.ok()) std::abort();
          benchmark::DoNotOptimize(record->size_bytes);
        },
        [](Lsn) {});
  });
}

void BM_DecodeMapBuildDeliver(benchmark::State& state, const Shape& shape) {
  const Traffic traffic(shape);
  const OutboxOptions options = OptionsOf(shape);
  Sender sender(RecordBuilder::Create(options).value(), {});
  WalProgress progress(sender);
  CountingSink sink;
  sender.SetSink(&sink);
  sender.SetTimeline(1);
  Mapping mapping(traffic, options, sender.builder().routes());
  Sequence acknowledged = 0;
  Measure(state, [&] {
    mapping.Transaction(
        [&](const Event& event) {
          if (progress.OnEvent(event, absl::OkStatus()) !=
              Sender::Offer::kAccepted)
            std::abort();
        },
        [&](Lsn end) { progress.OnTransactionEnd(end); });
    // As a delivery report brings them: many at once.
    const WallTime now{std::chrono::milliseconds(1)};
    while (acknowledged < sink.next()) {
      sender.OnAcknowledged(acknowledged++, now);
    }
  });
  if (!sender.window().empty()) std::abort();
  benchmark::DoNotOptimize(sink.bytes());
}

BENCHMARK_CAPTURE(BM_Decode, raw, kRaw);
BENCHMARK_CAPTURE(BM_DecodeMap, raw, kRaw);
BENCHMARK_CAPTURE(BM_DecodeMapBuild, raw, kRaw);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, raw, kRaw);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, headers, kWithHeaders);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, protobuf, kProtobuf);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, protobuf_headers,
                  kProtobufWithHeaders);

BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, debezium_string, kDebeziumString);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, debezium_json, kDebeziumJson);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, debezium_json_schemas,
                  kDebeziumSchemas);
BENCHMARK_CAPTURE(BM_DecodeMapBuildDeliver, debezium_expanded_json,
                  kDebeziumExpanded);

}  // namespace
}  // namespace walpost
