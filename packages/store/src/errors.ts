import { createError } from '@svc/contract'

/** An option that is unknown or has a bad value. */
export const STO_ERR_BAD_OPTION = createError<[string]>('STO_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The database cannot be opened or migrated. */
export const STO_ERR_OPEN = createError<[string, ErrorOptions?]>(
  'STO_ERR_OPEN',
  'The database cannot be opened: %s',
  500
)
/** `pg`, the driver of Postgres, is not installed. */
export const STO_ERR_DRIVER_MISSING = createError(
  'STO_ERR_DRIVER_MISSING',
  'A Postgres URL requires the package `pg`: install it with `npm install pg`',
  500
)
/** The server of the database does not answer, is starting or stopping, or refuses the connection for now. */
export const STO_ERR_UNREACHABLE = createError<[string, ErrorOptions?]>(
  'STO_ERR_UNREACHABLE',
  'The database cannot be reached: %s',
  503
)
/** The server has no connection left. */
export const STO_ERR_CONNECTIONS = createError(
  'STO_ERR_CONNECTIONS',
  'The database server has no connection left: raise its `max_connections`, or lower the `pool` of each process',
  503
)
/** The database cannot be written: a replica, or a server in recovery. */
export const STO_ERR_READ_ONLY = createError(
  'STO_ERR_READ_ONLY',
  'The database is read-only: it is a replica, or was the primary until a failover',
  503
)
/** The disk of the database is full. */
export const STO_ERR_FULL = createError<[string, ErrorOptions?]>(
  'STO_ERR_FULL',
  'The database has no space left: %s',
  503
)
/** The user of the database lacks a permission. */
export const STO_ERR_PERMISSION = createError<[string, ErrorOptions?]>(
  'STO_ERR_PERMISSION',
  'The user of the database lacks a permission: %s',
  500
)
/** A newer version of the package has migrated the database. */
export const STO_ERR_NEWER_SCHEMA = createError<[string]>(
  'STO_ERR_NEWER_SCHEMA',
  'A newer version of @svc/store has migrated the database (%s): update this service',
  500
)
/** The schema has tables of the same names that another program made. */
export const STO_ERR_OTHER_TABLES = createError<[string, string]>(
  'STO_ERR_OTHER_TABLES',
  'The schema %s has a table %s of another program: name another `schema`',
  500
)
/** A copy would mix its data with others. */
export const STO_ERR_NOT_EMPTY = createError<[string, string]>(
  'STO_ERR_NOT_EMPTY',
  'The schema %s has data in %s: copy into an empty schema',
  500
)
/** A copy would not be complete; nothing was copied. */
export const STO_ERR_COPY = createError<[string]>('STO_ERR_COPY', 'The copy would not be complete: %s', 500)
/** The database is already open, in this process or another. */
export const STO_ERR_IN_USE = createError<[string]>(
  'STO_ERR_IN_USE',
  'This or another process has the database %s: close the store that has it, or name another file',
  500
)
/** The file has several hard links: it could be open under another name, and its newest writes would be missed. */
export const STO_ERR_HARD_LINKS = createError<[string, number]>(
  'STO_ERR_HARD_LINKS',
  'The database %s has %d names (hard links), and could be open under another one: leave it one name',
  500
)
/** The file was deleted, moved or replaced while open. */
export const STO_ERR_FILE_GONE = createError<[string]>(
  'STO_ERR_FILE_GONE',
  'The database %s was deleted, moved or replaced while it is open: bring the file back, or restart the service',
  503
)
/** The plugin was registered after the run engine, which stores its runs elsewhere. */
export const STO_ERR_PLUGIN_ORDER = createError<[string]>(
  'STO_ERR_PLUGIN_ORDER',
  'Too late: register @svc/store before %s, whose run engine keeps its runs elsewhere',
  500
)
/** The plugin is in a scope that the run engine cannot see. */
export const STO_ERR_UNUSED = createError<[string]>(
  'STO_ERR_UNUSED',
  'No run engine uses the store: the one that %s brought is of another scope. Register @svc/store before it, at the root of the app',
  500
)
/** The app already has a store. */
export const STO_ERR_REGISTERED_TWICE = createError(
  'STO_ERR_REGISTERED_TWICE',
  'The app has a store already: register @svc/store once',
  500
)
/** The store is closed. */
export const STO_ERR_CLOSED = createError('STO_ERR_CLOSED', 'The store is closed', 503)
