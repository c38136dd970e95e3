import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** The URL that an option gives. @throws A2A_ERR_BAD_OPTION when it is no absolute http or https URL, or has credentials */
export function requireHttpUrl(option: string, given: string): URL {
  // URL.parse alone would mend a missing `//` and white space, which whoever reads the option would not.
  const url = /^https?:\/\/\S+$/i.test(given) ? URL.parse(given) : null
  if (url === null) throw new A2A_ERR_BAD_OPTION(`${option}: must be an absolute http or https URL`)
  if (url.username !== '' || url.password !== '')
    throw new A2A_ERR_BAD_OPTION(`${option}: must have no user and no password`)
  return url
}
