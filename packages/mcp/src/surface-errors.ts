import { surfaceErrors } from '@svc/surface'

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('MCP', '@svc/mcp', {
  CrossOrigin: 'Not allowed from another origin'
})
