import { surfaceErrors } from '@svc/surface'

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('AGUI', '@svc/ag-ui', {
  BodyTooLarge: 'The body is too large: send fewer messages'
})
