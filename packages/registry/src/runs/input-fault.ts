/** What of an input does not fit, and where: `input/0/data`. */
export interface InputFault {
  path: string
  message: string
}
