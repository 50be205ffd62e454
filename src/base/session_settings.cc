#include "base/session_settings.h"

#include "base/server_version.h"

namespace walpost {

// Uses functions, not operators: until it has run, the path is the role's.
std::string PinLateSettingsSql(int server_version,
                               std::string_view server_encoding) {
  std::string sql =
      "SELECT pg_catalog.set_config('search_path', pg_catalog.rtrim("
      "pg_catalog.concat('pg_catalog, ', "
      "pg_catalog.current_setting('search_path')), ', '), false)";
  if (server_version >= kFirstWithTransactionTimeout) {
    sql += ", pg_catalog.set_config('transaction_timeout', '0', false)";
  }
  if (MayHoldAnyBytes(server_encoding)) {
    sql += ", pg_catalog.set_config('client_encoding', 'SQL_ASCII', false)";
  }
  return sql;
}

}  // namespace walpost
