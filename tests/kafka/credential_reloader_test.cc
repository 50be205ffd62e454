#include "kafka/client/credential_reloader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace walpost {
namespace {

class CredentialReloaderTest : public ::testing::Test {
 protected:
  CredentialReloaderTest() {
    Write("first");
    options_.properties = {
        {"ssl.certificate.location", path_},
        {"sasl.password",
         ReloadableText("${file:x}", [this] { return password_; })}};
  }

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  std::string path_ = ::testing::TempDir() + "walpost_credential_watch";
  absl::StatusOr<std::string> password_ = "first";
  ProducerOptions options_;
};

TEST_F(CredentialReloaderTest, SeesAnotherValueAndAnotherFile) {
  const CredentialReloader watch(options_);
  EXPECT_FALSE(watch.have_changed());
  password_ = "second";
  EXPECT_TRUE(watch.have_changed());
  password_ = "first";
  EXPECT_FALSE(watch.have_changed());
  Write("second");
  EXPECT_TRUE(watch.have_changed());
}

TEST_F(CredentialReloaderTest, OthersMatterOnceTheseWereRejected) {
  CredentialReloader watch(options_);
  Write("second");
  watch.OnError(RD_KAFKA_RESP_ERR__TRANSPORT);
  EXPECT_FALSE(watch.are_stale());
  watch.OnError(RD_KAFKA_RESP_ERR__AUTHENTICATION);
  EXPECT_TRUE(watch.are_stale());
  Write("first");
  EXPECT_FALSE(watch.are_stale());
}

TEST_F(CredentialReloaderTest, WhatCannotBeReadIsNoReasonForAnotherClient) {
  CredentialReloader watch(options_);
  watch.OnError(RD_KAFKA_RESP_ERR__SSL);
  password_ = absl::UnavailableError("file x cannot be read");
  EXPECT_FALSE(watch.are_stale());
}

}  // namespace
}  // namespace walpost
