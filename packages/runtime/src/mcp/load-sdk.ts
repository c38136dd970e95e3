import { RUN_ERR_NOT_INSTALLED } from '../errors.ts'

/** Loads a module of the official SDK, which is an optional peer. @throws RUN_ERR_NOT_INSTALLED */
export async function loadSdk<T>(loading: () => Promise<T>): Promise<T> {
  try {
    return await loading()
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw new RUN_ERR_NOT_INSTALLED('@modelcontextprotocol/sdk')
  }
}
