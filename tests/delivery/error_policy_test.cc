// What each error of Postgres means for the flow. Those of Kafka, whose names
// only librdkafka's header knows, are in tests/kafka.
#include "delivery/error_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace walpost {
namespace {

using absl::StatusCode;

struct Row {
  const char* name;
  std::string_view sqlstate;
  StatusCode remedy;
};

// PostgreSQL manual, appendix A.
constexpr Row kRows[] = {
    {"lost_without_a_word", "", StatusCode::kUnavailable},
    {"connection_failure", "08006", StatusCode::kUnavailable},
    {"sqlclient_unable_to_establish_sqlconnection", "08001",
     StatusCode::kUnavailable},
    {"protocol_violation", "08P01", StatusCode::kFailedPrecondition},
    {"invalid_password", "28P01", StatusCode::kFailedPrecondition},
    {"invalid_authorization_specification", "28000",
     StatusCode::kFailedPrecondition},
    {"invalid_catalog_name", "3D000", StatusCode::kFailedPrecondition},
    {"insufficient_privilege", "42501", StatusCode::kFailedPrecondition},
    {"undefined_object", "42704", StatusCode::kFailedPrecondition},
    {"undefined_table", "42P01", StatusCode::kFailedPrecondition},
    {"undefined_column", "42703", StatusCode::kFailedPrecondition},
    {"syntax_error", "42601", StatusCode::kFailedPrecondition},
    {"feature_not_supported", "0A000", StatusCode::kFailedPrecondition},
    {"untranslatable_character", "22P05", StatusCode::kDataLoss},
    {"invalid_parameter_value", "22023", StatusCode::kFailedPrecondition},
    {"read_only_sql_transaction", "25006", StatusCode::kUnavailable},
    {"too_many_connections", "53300", StatusCode::kUnavailable},
    {"disk_full", "53100", StatusCode::kUnavailable},
    {"configuration_limit_exceeded", "53400", StatusCode::kUnavailable},
    {"program_limit_exceeded", "54000", StatusCode::kDataLoss},
    {"object_in_use", "55006", StatusCode::kUnavailable},
    {"object_not_in_prerequisite_state", "55000",
     StatusCode::kFailedPrecondition},
    {"admin_shutdown", "57P01", StatusCode::kUnavailable},
    {"crash_shutdown", "57P02", StatusCode::kUnavailable},
    {"cannot_connect_now", "57P03", StatusCode::kUnavailable},
    {"undefined_file", "58P01", StatusCode::kFailedPrecondition},
    {"io_error", "58030", StatusCode::kUnavailable},
    {"serialization_failure", "40001", StatusCode::kUnavailable},
    {"internal_error", "XX000", StatusCode::kDataLoss},
    {"data_corrupted", "XX001", StatusCode::kDataLoss},
};

TEST(ErrorPolicyTest, EverySqlstateHasItsRemedy) {
  for (const Row& row : kRows) {
    EXPECT_EQ(ClassifySqlstate(row.sqlstate).remedy, row.remedy) << row.name;
  }
}

TEST(ErrorPolicyTest, UnknownSqlstatesMeanStopAndSaySo) {
  for (const char* sqlstate : {"P0001", "23505", "99999", "?????"}) {
    const ErrorRule rule = ClassifySqlstate(sqlstate);
    EXPECT_EQ(rule.remedy, StatusCode::kFailedPrecondition) << sqlstate;
    EXPECT_FALSE(rule.hint.empty()) << sqlstate;
  }
}

TEST(ErrorPolicyTest, UnknownKafkaErrorsMeanStopAndSaySo) {
  for (const int code : {-999, -100, 9999}) {
    const ErrorRule rule = ClassifyKafkaError(code);
    EXPECT_EQ(rule.remedy, StatusCode::kFailedPrecondition) << code;
    EXPECT_FALSE(rule.hint.empty()) << code;
  }
}

TEST(ErrorPolicyTest, WhatAnOperatorMustMendHasAHintOrADescriptionOfItsOwn) {
  for (const char* sqlstate :
       {"28P01", "28000", "3D000", "42501", "42704", "55000", "58P01"}) {
    EXPECT_FALSE(ClassifySqlstate(sqlstate).hint.empty()) << sqlstate;
  }
}

TEST(ErrorPolicyTest, HintsAreOneLine) {
  for (int code = -200; code < 200; ++code) {
    const std::string_view hint = ClassifyKafkaError(code).hint;
    EXPECT_EQ(hint.find('\n'), std::string_view::npos) << code;
    EXPECT_FALSE(hint.ends_with('.')) << code << ": it ends a longer message";
  }
}

}  // namespace
}  // namespace walpost
