import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'

/** Every row of every table of a database as text, bytes too, by the table. */
export type AllTables = () => Promise<Map<string, string[]>>

/** Reads all tables of a file. */
export function tablesOfFile(file: string): AllTables {
  return async () => {
    const database = new DatabaseSync(file, { readOnly: true })
    const names = database.prepare(`select name from sqlite_schema where type = 'table'`).all()
    const rows = new Map<string, string[]>()
    for (const { name } of names)
      rows.set(
        String(name),
        database
          .prepare(`select * from "${String(name)}"`)
          .all()
          .map(toText)
      )
    database.close()
    return rows
  }
}

/** Reads all tables of a server, whatever their schemas. */
export function tablesOfServer(url: string): AllTables {
  return async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const found = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`
    )
    const rows = new Map<string, string[]>()
    for (const { name } of found.rows)
      rows.set(name, (await client.query<object>(`select * from ${name}`)).rows.map(toText))
    await client.end()
    return rows
  }
}

/** The rows that have a text, in any case. */
export function rowsWith(tables: ReadonlyMap<string, readonly string[]>, text: string): string[] {
  const wanted = text.toLowerCase()
  return [...tables].flatMap(([name, rows]) =>
    rows.filter((row) => row.toLowerCase().includes(wanted)).map((row) => `${name}: ${row.slice(0, 300)}`)
  )
}

function toText(row: object): string {
  return Object.values(row)
    .map((value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : (JSON.stringify(value) ?? '')
    )
    .join(' ')
}
