// A SELECT over one table, in the words of its engine. Pure. The guard judges it like anybody's.

const PLAIN = /^[a-z_][a-z0-9_]*$/
// Words that need quotes as names, in one engine or another; quotes too many do no harm.
const RESERVED = new Set(
  (
    'all and any as asc between by case check column constraint create cross current date default delete desc distinct drop ' +
    'else end except exists false fetch for foreign from full group groups having in index inner insert interval into is join ' +
    'key keys left like limit natural not null offset on or order outer primary rank references right row rows select set ' +
    'system table then time timestamp to true union unique update user using values view when where window with'
  ).split(' '),
)

function quoted(name: string, engine: string | null): string {
  if (PLAIN.test(name) && !RESERVED.has(name)) return name
  return /mysql|mariadb/.test(engine ?? '') ? `\`${name.replaceAll('`', '``')}\`` : `"${name.replaceAll('"', '""')}"`
}

export function selectFrom(
  table: { database: string; name: string; columns: readonly string[] },
  engine: string | null,
  limit: number,
): string {
  const columns = table.columns.map((column) => quoted(column, engine)).join(', ') || '*'
  return `SELECT ${columns}\nFROM ${quoted(table.database, engine)}.${quoted(table.name, engine)}\nLIMIT ${limit}`
}
