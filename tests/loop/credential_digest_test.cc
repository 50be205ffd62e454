#include "loop/credential_digest.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace walpost {
namespace {

TEST(CredentialDigestTest, AnyPartMakesAnotherDigest) {
  const std::string path = ::testing::TempDir() + "/credential_digest_test";
  std::ofstream(path) << "one";
  const ReloadableText user = "u";
  const ReloadableText password = "p";
  const TlsOptions none;
  const auto digest = DigestCredentials({&user, &password}, none);
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*DigestCredentials({&user, &password}, none), *digest);
  EXPECT_NE(*DigestCredentials({&password, &user}, none), *digest);

  TlsOptions tls;
  tls.ca_file = path;
  const auto with_file = DigestCredentials({&user, &password}, tls);
  EXPECT_NE(*with_file, *digest);
  EXPECT_NE(*DigestCredentials({&user, &password}, none, path), *with_file);
  std::ofstream(path) << "two";
  EXPECT_NE(*DigestCredentials({&user, &password}, tls), *with_file);
  std::remove(path.c_str());
  EXPECT_EQ(*DigestCredentials({&user, &password}, tls), *digest);
}

TEST(CredentialDigestTest, ATextThatCannotBeReadIsAnError) {
  const ReloadableText password("${file:/none}", [] {
    return absl::StatusOr<std::string>(
        absl::UnavailableError("redis.password: gone"));
  });
  const auto digest = DigestCredentials({&password}, TlsOptions());
  EXPECT_TRUE(absl::IsUnavailable(digest.status()));
}

}  // namespace
}  // namespace walpost
