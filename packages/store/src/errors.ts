import createError from '@fastify/error'

/** An option that is unknown or has a bad value. */
export const STO_ERR_BAD_OPTION = createError<[string]>('STO_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The database cannot be opened or brought up to date. */
export const STO_ERR_OPEN = createError<[string, ErrorOptions?]>(
  'STO_ERR_OPEN',
  'The database cannot be opened: %s',
  500
)
/** The store is closed. */
export const STO_ERR_CLOSED = createError('STO_ERR_CLOSED', 'The store is closed', 503)
