#include "verify/sqlite.h"

namespace walpost {

void SqliteStatement::BindOne(int column, int64_t number) {
  sqlite3_bind_int64(statement_.get(), column, number);
}

void SqliteStatement::BindOne(int column,
                              const std::optional<int64_t>& number) {
  if (number) return BindOne(column, *number);
  sqlite3_bind_null(statement_.get(), column);
}

void SqliteStatement::BindOne(int column, const std::string& text) {
  sqlite3_bind_text(statement_.get(), column, text.data(),
                    static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

void SqliteStatement::BindOne(int column,
                              const std::optional<std::string>& text) {
  if (text) return BindOne(column, *text);
  sqlite3_bind_null(statement_.get(), column);
}

void SqliteStatement::BindOne(int column, const SqliteBytes& value) {
  if (!value.bytes) {
    sqlite3_bind_null(statement_.get(), column);
    return;
  }
  const std::string_view bytes = *value.bytes;
  sqlite3_bind_blob(statement_.get(), column, bytes.empty() ? "" : bytes.data(),
                    static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}

std::string SqliteStatement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return "";
  return std::string(static_cast<const char*>(bytes),
                     static_cast<size_t>(size));
}

int SqliteDatabase::Open(const std::string& path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open(path.c_str(), &database);
  database_.reset(database);
  return code;
}

int SqliteDatabase::Execute(const std::string& sql) {
  return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
}

int SqliteDatabase::Prepare(std::string_view sql,
                            SqliteStatement& statement) const {
  sqlite3_stmt* prepared = nullptr;
  const int code =
      sqlite3_prepare_v2(database_.get(), sql.data(),
                         static_cast<int>(sql.size()), &prepared, nullptr);
  statement.statement_.reset(prepared);
  return code;
}

}  // namespace walpost
