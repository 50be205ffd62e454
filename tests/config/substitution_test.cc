#include "config/substitution.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace walpost {
namespace {

std::optional<std::string> Find(
    const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

Environment Fake() {
  Environment fake;
  fake.variable = [](const std::string& name) {
    return Find({{"USER", "relay"},
                 {"EMPTY", ""},
                 {"REFERENCE", "${env:USER}"},
                 {"DOLLAR", "$"},
                 {"a:b", "colon"}},
                name);
  };
  fake.file = [](const std::string& path) -> absl::StatusOr<std::string> {
    const auto content = Find({{"/secret", "s3cret\n"},
                               {"/two-lines", "one\ntwo\n\n"},
                               {"/bare", "bare"},
                               {"/empty", ""},
                               {"/newline", "\n"},
                               {"relative", "here\n"}},
                              path);
    if (content) return *content;
    return absl::InvalidArgumentError("No such file or directory");
  };
  return fake;
}

struct Row {
  const char* text;
  const char* result;
};

TEST(SubstitutionTest, ReplacesReferences) {
  const Row rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"${env:USER}", "relay"},
      {"<${env:USER}>", "<relay>"},
      {"${env:USER}${env:USER}", "relayrelay"},
      {"${env:USER}@${file:/bare}", "relay@bare"},
      {"${env:EMPTY}", ""},
      {"${env:a:b}", "colon"},
      {"${file:relative}", "here"},
      {"${file:/empty}", ""},
  };
  for (const Row& row : rows) {
    const auto result = Substitute(row.text, Fake());
    ASSERT_TRUE(result.ok()) << row.text << ": " << result.status();
    EXPECT_EQ(*result, row.result) << row.text;
  }
}

TEST(SubstitutionTest, AFileLosesItsLastNewlineAndNoOther) {
  EXPECT_EQ(*Substitute("${file:/secret}", Fake()), "s3cret");
  EXPECT_EQ(*Substitute("${file:/two-lines}", Fake()), "one\ntwo\n");
  EXPECT_EQ(*Substitute("${file:/newline}", Fake()), "");
}

TEST(SubstitutionTest, WhatComesOutIsNotLookedAtAgain) {
  EXPECT_EQ(*Substitute("${env:REFERENCE}", Fake()), "${env:USER}");
  EXPECT_EQ(*Substitute("${env:DOLLAR}{env:USER}", Fake()), "${env:USER}");
  EXPECT_EQ(*Substitute("${env:DOLLAR}${env:USER}", Fake()), "$relay");
}

TEST(SubstitutionTest, ADoubledDollarEscapesAReference) {
  const Row rows[] = {
      {"$${env:USER}", "${env:USER}"},
      {"$${", "${"},
      {"a$${b}${env:USER}", "a${b}relay"},
      {"$$${env:USER}", "$${env:USER}"},
      {"$${$${", "${${"},
  };
  for (const Row& row : rows) {
    const auto result = Substitute(row.text, Fake());
    ASSERT_TRUE(result.ok()) << row.text << ": " << result.status();
    EXPECT_EQ(*result, row.result) << row.text;
  }
}

TEST(SubstitutionTest, DollarsAndBracesAloneMeanThemselves) {
  for (const std::string text : {"$", "$$", "{}", "}", "$a", "$ {a}", "a$",
                                 "{$}", "p$$w0rd", "}{", "$}"}) {
    EXPECT_EQ(*Substitute(text, Fake()), text);
  }
}

TEST(SubstitutionTest, NamesWhatItCannotReplace) {
  const Row rows[] = {
      {"${env:NONE}",
       "environment variable NONE is not set: export it for every command that "
       "connects"},
      {"x${env:USER}${env:NONE}",
       "environment variable NONE is not set: export it for every command that "
       "connects"},
      {"${file:/none}", "file /none cannot be read: No such file or directory"},
      {"${env:}", "'${env:}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${file:}", "'${file:}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${env}", "'${env}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${USER}",
       "'${USER}' is neither ${env:NAME} nor ${file:PATH}; did you mean "
       "${env:USER}?"},
      {"${}", "'${}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${ENV:USER}", "'${ENV:USER}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${ env:USER}",
       "'${ env:USER}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${vault:x}", "'${vault:x}' is neither ${env:NAME} nor ${file:PATH}"},
      {"${env:USER", "a '${' without its '}'"},
      {"${", "a '${' without its '}'"},
  };
  for (const Row& row : rows) {
    const absl::Status status = Substitute(row.text, Fake()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.text;
    EXPECT_EQ(status.message(), row.result);
  }
}

TEST(SubstitutionTest, AnErrorHoldsNoValueThatWasAlreadyLookedUp) {
  const absl::Status status =
      Substitute("${file:/secret}${env:NONE}", Fake()).status();
  EXPECT_EQ(status.message().find("s3cret"), std::string_view::npos);
}

TEST(EnvironmentTest, TheRealOneReadsVariablesAndFiles) {
  const Environment real = Environment::Real();
  ::setenv("WALPOST_SUBSTITUTION_TEST", "value", 1);
  EXPECT_EQ(real.variable("WALPOST_SUBSTITUTION_TEST"), "value");
  ::setenv("WALPOST_SUBSTITUTION_TEST", "", 1);
  EXPECT_EQ(real.variable("WALPOST_SUBSTITUTION_TEST"), "");
  ::unsetenv("WALPOST_SUBSTITUTION_TEST");
  EXPECT_EQ(real.variable("WALPOST_SUBSTITUTION_TEST"), std::nullopt);

  const std::string path = ::testing::TempDir() + "walpost_substitution_test";
  std::ofstream(path, std::ios::binary) << std::string("a\0b\n", 4);
  EXPECT_EQ(*real.file(path), std::string("a\0b\n", 4));
  std::ofstream(path, std::ios::binary).close();
  EXPECT_EQ(*real.file(path), "");
  std::remove(path.c_str());
  EXPECT_EQ(real.file(path).status().message(), "No such file or directory");
}

TEST(EnvironmentTest, AFolderIsNotAFile) {
  EXPECT_EQ(Environment::Real().file(::testing::TempDir()).status().message(),
            "Is a directory");
}

}  // namespace
}  // namespace walpost
