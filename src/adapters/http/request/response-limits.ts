import type { ServerResponse } from 'node:http';
import { isWhole, type Reply } from '../contract/responses.ts';
import { HttpError } from '../http-errors.ts';

/** Bytes of a body that is not worth counting: a socket's own buffer is larger. */
const SMALL = 16 * 1024;

/**
 * Bounds the memory that clients occupy by reading their responses slowly.
 *
 * @param maxBytes total bytes of the bodies that they have not read yet
 * @param maxStreams responses that are streamed at once
 */
export function responseLimits(maxBytes: number, maxStreams: number) {
  let bytes = 0;
  let streams = 0;

  return {
    /** Responses that are being streamed. */
    streams: () => streams,
    /** Counts a body until its response closes. @throws HttpError `overloaded` or `too_many_alike` if that is too much */
    count(response: ServerResponse, body: Reply['body']): void {
      // The client has left: nothing will be sent, and the response may have closed before.
      if (body === undefined || response.req.socket.destroyed) return;
      if (!isWhole(body)) {
        if (streams >= maxStreams) throw new HttpError('too_many_alike');
        streams++;
        response.once('close', () => streams--);
        return;
      }
      const size = Buffer.byteLength(body);
      if (size <= SMALL) return;
      // A single body is always sent, however large.
      if (bytes > 0 && bytes + size > maxBytes) throw new HttpError('overloaded');
      bytes += size;
      response.once('close', () => (bytes -= size));
    },
  };
}
