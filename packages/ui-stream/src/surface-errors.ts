import { surfaceErrors } from '@svc/surface'

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('UI', '@svc/ui-stream', {
  BodyTooLarge: 'The body is too large: send the last messages only'
})
