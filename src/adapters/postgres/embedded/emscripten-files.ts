import fs from 'node:fs';
import type { PGliteOptions, postgresMod } from '@electric-sql/pglite';
import { syncFolder } from './disk-sync.ts';

/*
 * The only contact with the objects of Emscripten, PGlite's C library: its NODEFS writes files but never syncs them, and
 * neither PGlite nor Emscripten has a public way to add that (https://github.com/electric-sql/pglite/issues/1107).
 * Emscripten's fsync (src/lib/libwasi.js: fd_sync) calls `stream_ops.fsync` if there is one, and returns success if not,
 * so open-pglite.ts refuses to start unless a commit has called the one that is added here.
 */

/** A file or folder as Emscripten's NODEFS knows it. */
interface FileNode {
  readonly mode: number;
  readonly parent: FileNode;
}

/** What is used of NODEFS (Emscripten's src/lib/libnodefs.js). */
interface NodeFiles {
  readonly node_ops: {
    mknod(parent: FileNode, name: string, mode: number, device: number): FileNode;
    rename(node: FileNode, newParent: FileNode, newName: string): void;
  };
  readonly stream_ops: { fsync?(stream: { readonly nfd: number; readonly node: FileNode }): number };
  realPath(node: FileNode): string;
  /** Turns a system error into Emscripten's, the only one that Postgres sees. PGlite swallows any other. */
  tryFSOperation<T>(operation: () => T): T;
}

interface Options {
  /** Called with the error of a sync. After that, a later success means nothing: Linux forgets what it could not write. */
  readonly onFailure: (error: Error) => void;
  /** Called when Postgres gives up (PANIC): whatever is called in it afterwards fails or never returns. */
  readonly onAbort: () => void;
}

/**
 * The files of PGlite in a folder, with an fsync that reaches the disk, as its NodeFS has none.
 *
 * @returns PGlite's option `fs`, and a function that counts how often Postgres has synced a file or folder
 */
export async function syncedFiles(folder: string, { onFailure, onAbort }: Options) {
  const { NodeFS } = await import('@electric-sql/pglite/nodefs');
  const files = new NodeFS(folder);
  let syncs = 0;

  function addSync({ node_ops, stream_ops, realPath, tryFSOperation }: NodeFiles): void {
    /** Folders with new names, which Postgres itself does not always sync. */
    const changed = new Set<string>();
    const { mknod, rename } = node_ops;
    node_ops.mknod = (parent, ...rest) => {
      changed.add(realPath(parent));
      return mknod(parent, ...rest);
    };
    node_ops.rename = (node, newParent, newName) => {
      changed.add(realPath(node.parent)).add(realPath(newParent));
      rename(node, newParent, newName);
    };
    stream_ops.fsync = ({ nfd, node }) =>
      tryFSOperation(() => {
        syncs++;
        try {
          if (isFolder(node)) changed.add(realPath(node));
          else fs.fdatasyncSync(nfd);
          for (const path of changed) {
            syncFolder(path);
            changed.delete(path);
          }
        } catch (error) {
          onFailure(error as Error);
          throw error;
        }
        return 0;
      });
  }

  const fileSystem: NonNullable<PGliteOptions['fs']> = {
    async init(pglite, options) {
      const { emscriptenOpts } = await files.init(pglite, options);
      const preRun = [
        ...(emscriptenOpts.preRun ?? []),
        ({ NODEFS }: postgresMod.PostgresMod) => addSync(NODEFS as unknown as NodeFiles),
      ];
      return { emscriptenOpts: { ...emscriptenOpts, preRun, onAbort } };
    },
    initialSyncFs: () => files.initialSyncFs(),
    syncToFs: (relaxed) => files.syncToFs(relaxed),
    dumpTar: (name, compression) => files.dumpTar(name, compression),
    closeFs: () => files.closeFs(),
  };
  return { fs: fileSystem, syncs: () => syncs };
}

function isFolder({ mode }: FileNode): boolean {
  return (mode & fs.constants.S_IFMT) === fs.constants.S_IFDIR;
}
